"""Wrong scripts of step 24, a faster fashion_mnist.py: each has one mistake that learners make."""

from tests.corpus.faster_passages import (
    BATCHES,
    BEFORE,
    BROADCAST,
    EVALUATE,
    FP16,
    PLAIN,
    STEPS,
    WRAPPED,
    accumulated,
    times,
)
from tests.corpus.variant import wrong

_HALF = ", compression=hvd.Compression.fp16"
_MEAN = ", average_aggregated_gradients=True"
_SLOW = "    (batch for batch in train_iter if time.sleep(0.2) is None),\n"
_UNUSED = f"{WRAPPED.replace('opt = ', 'faster = ')}opt = hvd.DistributedOptimizer(opt)\n"
_ONLY_LAST = f"for layer in model.layers[:-1]:\n    layer.trainable = False\n{WRAPPED}"

WRONG = (
    wrong(24, "nothing done at step 24", base=BEFORE, check="communication")(),
    wrong(24, "16 bits alone", base=BEFORE, check="communication")((PLAIN, FP16)),
    wrong(24, "two batches per exchange alone", check="communication")(accumulated(2)),
    wrong(24, "a batch twice as large alone", base=BEFORE, check="communication")(times(2, 2)),
    wrong(24, "the compressed optimizer is not used", check="communication")((WRAPPED, _UNUSED)),
    wrong(24, "the mean of four batches at the same rate", check="target")(accumulated(4, _HALF + _MEAN)),
    wrong(24, "the mean of eight batches at the same rate", check="target")(accumulated(8, _HALF + _MEAN)),
    wrong(24, "a batch four times as large at the same rate", base=BEFORE, check="target")(times(4, 1)),
    wrong(24, "a batch sixteen times as large", base=BEFORE, check="target")(times(16, 16)),
    wrong(24, "a third of the images", check="target")((STEPS, STEPS.replace(" // hvd.size()", " // hvd.size() // 3"))),
    wrong(24, "a tenth of the rate", check="target")(times(1, 0.1)),
    wrong(24, "only the last layer is trained", check="target")((WRAPPED, _ONLY_LAST)),
    wrong(24, "no evaluation", check="target", in_ci=True)((EVALUATE, "")),
    wrong(24, "no exchange", check="together")((WRAPPED, "")),
    wrong(24, "no common start", check="together")((BROADCAST, "")),
    wrong(24, "images that come too late", check="time")((BATCHES, _SLOW)),
    wrong(24, "no module of this name", fails=0)(("from course import data\n", "from course import datas\n")),
    wrong(24, "a compression that Horovod does not have", fails=0)(("Compression.fp16", "Compression.fp8")),
)
