"""Correct scripts of step 24, a faster fashion_mnist.py. Each one passes."""

from tests.corpus.faster_passages import (
    BATCHES,
    BEFORE,
    COMPILE,
    FP16,
    PARSED,
    PLAIN,
    SGD,
    WRAPPED,
    accumulated,
    times,
)
from tests.corpus.variant import right

_AVERAGED = ", compression=hvd.Compression.fp16, average_aggregated_gradients=True"

_FLAGS = """parser.add_argument("--passes", type=int, default=2, help="batches per exchange")
args = parser.parse_args()
"""

_COMPRESSOR = """class Half(hvd.Compression.none):
    \"\"\"Exchange 16-bit numbers.\"\"\"

    @staticmethod
    def compress(tensor):
        \"\"\"Return the tensor to exchange, and its type.\"\"\"
        return tf.cast(tensor, tf.float16), tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        \"\"\"Return the tensor as it was.\"\"\"
        return tf.cast(tensor, ctx)


opt = hvd.DistributedOptimizer(opt, compression=Half, backward_passes_per_step=2)
"""

_IN_COMPILE = """model.compile(
    loss="sparse_categorical_crossentropy",
    optimizer=hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16, backward_passes_per_step=2),
    metrics=["accuracy"],
)
"""

_TF_DATA = """    tf.data.Dataset.from_generator(
        lambda: (batch for batch in train_iter),
        output_signature=(tf.TensorSpec((None, 28, 28, 1), tf.float32), tf.TensorSpec((None,), tf.int32)),
    ).prefetch(2),
"""


CORRECT = (
    right(24, "the solution of step 24")(),
    right(24, "16 bits, and a batch twice as large with twice the rate", base=BEFORE)((PLAIN, FP16), times(2, 2)),
    right(24, "the mean of both batches, and twice the rate")(accumulated(2, _AVERAGED), times(1, 2)),
    right(24, "a flag for the accumulation")(
        (PARSED, _FLAGS), (WRAPPED, WRAPPED.replace("per_step=2", "per_step=args.passes"))
    ),
    right(24, "a compressor of the script's own")((WRAPPED, _COMPRESSOR)),
    right(24, "wrapped when it is compiled")((WRAPPED, ""), (COMPILE, _IN_COMPILE)),
    right(24, "images from tf.data, prefetched")((BATCHES, _TF_DATA)),
    right(24, "a rate half as large again")((SGD, SGD.replace("args.base_lr", "1.5 * args.base_lr")), times(1, 1.5)),
    right(24, "three batches per exchange, in 16 bits")(accumulated(3, ", compression=hvd.Compression.fp16")),
    right(24, "a batch three times as large with three times the rate, in 16 bits", base=BEFORE)(
        (PLAIN, FP16), times(3, 3)
    ),
)
