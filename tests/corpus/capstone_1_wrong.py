"""Wrong scripts of the first part's capstone: each has one mistake that learners make."""

from tests.corpus.capstone_1_passages import (
    AVERAGE,
    BOARD,
    BROADCAST,
    CHOICE,
    EPOCHS,
    OPTIMIZER,
    PIPELINE,
    RATE,
    REPORT,
    SGD,
    SHARDED,
    SHARE,
    STOP,
    VERBOSE,
)
from tests.corpus.variant import wrong

WHOLE_TEST_SET = (
    "    if shuffled:\n"
    "        share = len(images) // hvd.size()\n"
    "        dataset = dataset.shard(hvd.size(), hvd.rank()).take(share).shuffle(share)\n"
    "    return dataset.batch(batch_size)\n"
)
EVENLY_BUT_FOR_THE_LAST = "    return dataset.batch(batch_size).shard(hvd.size(), hvd.rank())\n"

WRONG = (
    wrong(101, "nothing done at capstone 1", fails=1, check="initialised", base="fashion_mlp.py")(),
    wrong(101, "the GPU of the rank among all", fails=1, check="pinned")((CHOICE, "gpus[hvd.rank()]")),
    wrong(101, "ranks share a GPU", fails=1, check="enough_gpus")((CHOICE, "gpus[hvd.local_rank() % len(gpus)]")),
    wrong(101, "every rank reports its epochs", fails=2, check="others_are_silent")((VERBOSE, "        verbose=2,\n")),
    wrong(101, "one rank of each host reports", fails=2, check="others_are_silent")(
        (VERBOSE, VERBOSE.replace("hvd.rank()", "hvd.local_rank()"))
    ),
    wrong(101, "every rank prints the result", fails=2, check="others_are_silent")(
        (f"    if hvd.rank() == 0:\n        {REPORT}", f"    {REPORT}")
    ),
    wrong(101, "every rank writes logs", fails=2, check="same_work")(
        (BOARD, "    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n")
    ),
    wrong(101, "gradients not averaged", fails=3, check="mean_gradient")((OPTIMIZER, f"optimizer={SGD},")),
    wrong(101, "gradients summed in place of a larger rate", fails=3, check="mean_gradient")(
        (OPTIMIZER, "optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(args.learning_rate), op=hvd.Sum),")
    ),
    wrong(101, "another optimizer", fails=3, check="mean_gradient")((SGD, f"tf.keras.optimizers.Adam({RATE})")),
    wrong(101, "weights never broadcast", fails=4, check="same_weights")((BROADCAST, "")),
    wrong(101, "weights broadcast to themselves", fails=4, check="same_weights")(
        (BROADCAST, BROADCAST.replace("(0)", "(hvd.local_rank())"))
    ),
    wrong(101, "all images on every rank", fails=5, check="training_steps")(
        (SHARE + SHARDED, "    share = len(images)\n")
    ),
    wrong(101, "shares of the ranks of one host", fails=5, check="training_steps")(
        (PIPELINE, PIPELINE.replace("hvd.size()", "hvd.local_size()").replace("hvd.rank()", "hvd.local_rank()"))
    ),
    wrong(101, "a batch more on some ranks", fails=5, check="training_steps")((PIPELINE, EVENLY_BUT_FOR_THE_LAST)),
    wrong(101, "validation on all images on every rank", fails=5, check="validation_steps")((PIPELINE, WHOLE_TEST_SET)),
    wrong(101, "metrics not averaged", fails=6, check="mean_metrics")((AVERAGE, "")),
    wrong(101, "metrics averaged after they are read", fails=6, check="mean_metrics")((AVERAGE + STOP, STOP + AVERAGE)),
    wrong(101, "more epochs in place of a larger rate", fails=6, check="mean_metrics")(
        (RATE, "args.learning_rate"), (EPOCHS, "        epochs=args.epochs * hvd.size(),\n")
    ),
    wrong(101, "an image more on some ranks", fails=5, check="training_steps")(
        (SHARDED, "    dataset = dataset.shard(hvd.size(), hvd.rank())\n")
    ),
    wrong(101, "the rate of one process", check="accuracy")((RATE, "args.learning_rate")),
    wrong(101, "the rate of the ranks of one host", check="accuracy")((RATE, "args.learning_rate * hvd.local_size()")),
    wrong(101, "the rate times the square root of the ranks", check="accuracy")(
        (RATE, "args.learning_rate * hvd.size() ** 0.5")
    ),
    wrong(101, "the rate divided by the ranks", check="accuracy")((RATE, "args.learning_rate / hvd.size()")),
)
