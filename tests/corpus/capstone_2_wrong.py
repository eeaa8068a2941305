"""Wrong scripts of the second part's capstone: each has one mistake that learners make."""

from tests.corpus.capstone_2_passages import (
    AVERAGE,
    BROADCAST,
    DIRECT,
    DONE,
    EPOCHS,
    INITIAL,
    LAST,
    LOAD,
    LOADED,
    MODEL,
    NAMES,
    OWN,
    PARTIAL,
    RATE,
    RENAME,
    SAVE,
    SHARE,
    TAKEN,
    TARGET,
    UNDER_RANK_0,
    WRAPPED,
)
from tests.corpus.variant import Variant

WHOLE = PARTIAL + SAVE + RENAME
OWN_WEIGHTS = "        model.load_weights(checkpoint(args.log_dir, done))\n"

WRONG = (
    Variant("nothing done at capstone 2", 102, (), 1, "fashion_trainer.py", "initialised"),
    Variant("gradients not averaged", 102, ((WRAPPED, "optimizer"),), 3, check="mean_gradient"),
    Variant("weights never broadcast", 102, ((BROADCAST, ""),), 4, check="same_weights"),
    Variant("all images on every rank", 102, ((SHARE + OWN + TAKEN, ""),), 5, check="training_steps"),
    Variant("metrics not averaged", 102, ((AVERAGE, ""),), 6, check="mean_metrics"),
    Variant(
        "metrics averaged after they are read", 102, ((AVERAGE + TARGET, TARGET + AVERAGE),), 6, check="mean_metrics"
    ),
    Variant(
        "saved every second epoch",
        102,
        ((WHOLE, "        if epoch % 2 == 0:\n            return\n" + WHOLE),),
        10,
        check="saved_each_epoch",
    ),
    Variant(
        "saved where the accuracy is the best so far",
        102,
        (
            (
                WHOLE,
                '        if logs["val_accuracy"] <= getattr(self, "best", -10):\n'
                "            return\n"
                f'        self.best = logs["val_accuracy"]\n{WHOLE}',
            ),
        ),
        10,
        check="saved_each_epoch",
    ),
    Variant("written under its final name", 102, ((WHOLE, DIRECT),), 10, check="renamed"),
    Variant(
        "every rank saves",
        102,
        (
            (UNDER_RANK_0, "    callbacks += [Keeper(args.log_dir)]\n"),
            (PARTIAL, '        partial = self.folder / f"partial-{hvd.rank()}.h5"\n'),
        ),
        10,
        check="one_writer",
    ),
    Variant(
        "one rank of each host saves",
        102,
        (
            (
                UNDER_RANK_0,
                "    if hvd.rank() == 0:\n"
                "        callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"
                "    if hvd.local_rank() == 0:\n"
                "        callbacks.append(Keeper(args.log_dir))\n",
            ),
        ),
        10,
        check="one_writer",
    ),
    Variant("every rank looks for itself", 102, ((DONE, "    done = newest(args.log_dir)\n"),), 10, check="goes_on"),
    Variant(
        "the newest by its name as text",
        102,
        ((LAST, '    return int(max((name[1] for name in names if name), default="0"))\n'),),
        10,
        check="goes_on",
    ),
    Variant(
        "the newest by the time of writing",
        102,
        (
            (
                NAMES + LAST,
                '    paths = sorted(Path(folder).glob("checkpoint-*.h5"), key=lambda path: path.stat().st_mtime)\n'
                '    return int(paths[-1].stem.split("-")[1]) if paths else 0\n',
            ),
        ),
        10,
        check="goes_on",
    ),
    Variant("never resumed", 102, ((DONE, "    done = 0\n"),), 10, check="goes_on"),
    Variant("epochs counted from 0 again", 102, ((INITIAL, ""),), 10, check="goes_on"),
    Variant(
        "weights without the optimizer",
        102,
        ((MODEL, "    model = new_model(args)\n    if done and hvd.rank() == 0:\n" + OWN_WEIGHTS),),
        10,
        check="state_restored",
    ),
    Variant(
        "each host's own file",
        102,
        ((LOAD, "    return hvd.load_model(checkpoint(folder, epochs))\n"),),
        10,
        check="loaded_everywhere",
    ),
    Variant(
        "loaded on rank 0 alone",
        102,
        ((MODEL, "    model = load_model(args.log_dir, done) if done and not hvd.rank() else new_model(args)\n"),),
        10,
        check="loaded_everywhere",
    ),
    Variant(
        "loaded with an optimizer that does not average",
        102,
        ((LOADED, "return tf.keras.models.load_model(file.name)"),),
        10,
        check="loaded_everywhere",
    ),
    Variant(
        "as many epochs again after a restart",
        102,
        ((EPOCHS, "        epochs=done + args.epochs,\n"),),
        102,
        check="no_more_images",
    ),
    Variant(
        "an image more on some ranks",
        102,
        ((SHARE, ""), (OWN, "        own = slice(hvd.rank(), None, hvd.size())\n")),
        102,
        check="no_more_images",
    ),
    Variant("the rate of one process", 102, ((RATE, "learning_rate=args.rate"),), 102, check="accuracy"),
    Variant(
        "the rate of the ranks of one host",
        102,
        ((RATE, "learning_rate=args.rate * hvd.local_size()"),),
        102,
        check="accuracy",
    ),
)
