"""Wrong scripts of the first part's capstone: each has one mistake that learners make."""

from tests.corpus.capstone_1_passages import (
    AVERAGE,
    BOARD,
    BROADCAST,
    CHOICE,
    EPOCHS,
    GUARD,
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
    wrong(101, "nothing done at capstone 1", fails=1, check="initialised", base="fashion_mlp.py"),
    wrong(101, "the GPU of the rank among all", (CHOICE, "gpus[hvd.rank()]"), fails=1, check="pinned"),
    wrong(101, "no word about too few GPUs", (GUARD, ""), fails=1, check="enough_gpus"),
    wrong(101, "every rank reports its epochs", (VERBOSE, "        verbose=2,\n"), fails=2, check="others_are_silent"),
    wrong(
        101,
        "one rank of each host reports",
        (VERBOSE, VERBOSE.replace("hvd.rank()", "hvd.local_rank()")),
        fails=2,
        check="others_are_silent",
    ),
    wrong(
        101,
        "every rank prints the result",
        (f"    if hvd.rank() == 0:\n        {REPORT}", f"    {REPORT}"),
        fails=2,
        check="others_are_silent",
    ),
    wrong(
        101,
        "every rank writes logs",
        (BOARD, "    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"),
        fails=2,
        check="same_work",
    ),
    wrong(101, "gradients not averaged", (OPTIMIZER, f"optimizer={SGD},"), fails=3, check="mean_gradient"),
    wrong(
        101,
        "gradients summed in place of a larger rate",
        (OPTIMIZER, "optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(args.learning_rate), op=hvd.Sum),"),
        fails=3,
        check="mean_gradient",
    ),
    wrong(101, "another optimizer", (SGD, f"tf.keras.optimizers.Adam({RATE})"), fails=3, check="mean_gradient"),
    wrong(101, "weights never broadcast", (BROADCAST, ""), fails=4, check="same_weights"),
    wrong(
        101,
        "weights broadcast to themselves",
        (BROADCAST, BROADCAST.replace("(0)", "(hvd.local_rank())")),
        fails=4,
        check="same_weights",
    ),
    wrong(
        101, "all images on every rank", (SHARE + SHARDED, "    share = len(images)\n"), fails=5, check="training_steps"
    ),
    wrong(
        101,
        "shares of the ranks of one host",
        (PIPELINE, PIPELINE.replace("hvd.size()", "hvd.local_size()").replace("hvd.rank()", "hvd.local_rank()")),
        fails=5,
        check="training_steps",
    ),
    wrong(101, "a batch more on some ranks", (PIPELINE, EVENLY_BUT_FOR_THE_LAST), fails=5, check="training_steps"),
    wrong(101, "validation on all images on every rank", (PIPELINE, WHOLE_TEST_SET), fails=5, check="validation_steps"),
    wrong(101, "metrics not averaged", (AVERAGE, ""), fails=6, check="mean_metrics"),
    wrong(101, "metrics averaged after they are read", (AVERAGE + STOP, STOP + AVERAGE), fails=6, check="mean_metrics"),
    wrong(
        101,
        "more epochs in place of a larger rate",
        (RATE, "args.learning_rate"),
        (EPOCHS, "        epochs=args.epochs * hvd.size(),\n"),
        fails=6,
        check="mean_metrics",
    ),
    wrong(
        101,
        "an image more on some ranks",
        (SHARDED, "    dataset = dataset.shard(hvd.size(), hvd.rank())\n"),
        check="no_more_images",
    ),
    wrong(101, "the rate of one process", (RATE, "args.learning_rate"), check="accuracy"),
    wrong(101, "the rate of the ranks of one host", (RATE, "args.learning_rate * hvd.local_size()"), check="accuracy"),
    wrong(
        101,
        "the rate times the square root of the ranks",
        (RATE, "args.learning_rate * hvd.size() ** 0.5"),
        check="accuracy",
    ),
    wrong(101, "the rate divided by the ranks", (RATE, "args.learning_rate / hvd.size()"), check="accuracy"),
)
