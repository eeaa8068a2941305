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
from tests.corpus.variant import Variant

WHOLE_TEST_SET = (
    "    if shuffled:\n"
    "        share = len(images) // hvd.size()\n"
    "        dataset = dataset.shard(hvd.size(), hvd.rank()).take(share).shuffle(share)\n"
    "    return dataset.batch(batch_size)\n"
)
EVENLY_BUT_FOR_THE_LAST = "    return dataset.batch(batch_size).shard(hvd.size(), hvd.rank())\n"

WRONG = (
    Variant("nothing done at capstone 1", 101, (), 1, "fashion_mlp.py", "initialised"),
    Variant("the GPU of the rank among all", 101, ((CHOICE, "gpus[hvd.rank()]"),), 1, check="pinned"),
    Variant("no word about too few GPUs", 101, ((GUARD, ""),), 1, check="enough_gpus"),
    Variant("every rank reports its epochs", 101, ((VERBOSE, "        verbose=2,\n"),), 2, check="others_are_silent"),
    Variant(
        "one rank of each host reports",
        101,
        ((VERBOSE, VERBOSE.replace("hvd.rank()", "hvd.local_rank()")),),
        2,
        check="others_are_silent",
    ),
    Variant(
        "every rank prints the result",
        101,
        ((f"    if hvd.rank() == 0:\n        {REPORT}", f"    {REPORT}"),),
        2,
        check="others_are_silent",
    ),
    Variant(
        "every rank writes logs",
        101,
        ((BOARD, "    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"),),
        2,
        check="same_work",
    ),
    Variant("gradients not averaged", 101, ((OPTIMIZER, f"optimizer={SGD},"),), 3, check="mean_gradient"),
    Variant(
        "gradients summed in place of a larger rate",
        101,
        ((OPTIMIZER, "optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(args.learning_rate), op=hvd.Sum),"),),
        3,
        check="mean_gradient",
    ),
    Variant("another optimizer", 101, ((SGD, f"tf.keras.optimizers.Adam({RATE})"),), 3, check="mean_gradient"),
    Variant("weights never broadcast", 101, ((BROADCAST, ""),), 4, check="same_weights"),
    Variant(
        "weights broadcast to themselves",
        101,
        ((BROADCAST, BROADCAST.replace("(0)", "(hvd.local_rank())")),),
        4,
        check="same_weights",
    ),
    Variant(
        "all images on every rank",
        101,
        ((SHARE + SHARDED, "    share = len(images)\n"),),
        5,
        check="training_steps",
    ),
    Variant(
        "shares of the ranks of one host",
        101,
        ((PIPELINE, PIPELINE.replace("hvd.size()", "hvd.local_size()").replace("hvd.rank()", "hvd.local_rank()")),),
        5,
        check="training_steps",
    ),
    Variant("a batch more on some ranks", 101, ((PIPELINE, EVENLY_BUT_FOR_THE_LAST),), 5, check="training_steps"),
    Variant("validation on all images on every rank", 101, ((PIPELINE, WHOLE_TEST_SET),), 5, check="validation_steps"),
    Variant("metrics not averaged", 101, ((AVERAGE, ""),), 6, check="mean_metrics"),
    Variant("metrics averaged after they are read", 101, ((AVERAGE + STOP, STOP + AVERAGE),), 6, check="mean_metrics"),
    Variant(
        "more epochs in place of a larger rate",
        101,
        ((RATE, "args.learning_rate"), (EPOCHS, "        epochs=args.epochs * hvd.size(),\n")),
        6,
        check="mean_metrics",
    ),
    Variant(
        "an image more on some ranks",
        101,
        ((SHARDED, "    dataset = dataset.shard(hvd.size(), hvd.rank())\n"),),
        101,
        check="no_more_images",
    ),
    Variant("the rate of one process", 101, ((RATE, "args.learning_rate"),), 101, check="accuracy"),
    Variant(
        "the rate of the ranks of one host",
        101,
        ((RATE, "args.learning_rate * hvd.local_size()"),),
        101,
        check="accuracy",
    ),
    Variant(
        "the rate times the square root of the ranks",
        101,
        ((RATE, "args.learning_rate * hvd.size() ** 0.5"),),
        101,
        check="accuracy",
    ),
    Variant(
        "the rate divided by the ranks",
        101,
        ((RATE, "args.learning_rate / hvd.size()"),),
        101,
        check="accuracy",
    ),
)
