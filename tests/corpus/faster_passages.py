"""Passages of step 24's solution that its corpus replaces."""

from tests.corpus.variant import passage

SOLUTION = "scaling/fashion_mnist_faster.py"
BEFORE = "fashion_mnist_after_step_06.py"

SGD = passage(SOLUTION, "opt = tf.keras.optimizers.SGD(")
WRAPPED = passage(SOLUTION, "opt = hvd.DistributedOptimizer(")
PLAIN = passage(BEFORE, "opt = hvd.DistributedOptimizer(")
PARSED = passage(SOLUTION, "args = parser.parse_args()")
STEPS = passage(SOLUTION, "steps_per_epoch=len(train_iter)")
BATCHES = passage(SOLUTION, "    (batch for batch in train_iter),")
BROADCAST = passage(SOLUTION, "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback")
COMPILE = passage(SOLUTION, "model.compile(")
EVALUATE = passage(SOLUTION, "test_once = test_gen.flow(", 'print(f"Test accuracy')

FP16 = "opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16)\n"


def times(batch: int, rate: float) -> tuple[str, str]:
    """Return an edit that multiplies the batch size and the rate."""
    return PARSED, f"{PARSED}args.batch_size *= {batch}\nargs.base_lr *= {rate}\n"


def accumulated(passes: int, more: str = "") -> tuple[str, str]:
    """Return an edit that exchanges gradients once for so many batches, with these further arguments."""
    return WRAPPED, f"opt = hvd.DistributedOptimizer(opt, backward_passes_per_step={passes}{more})\n"
