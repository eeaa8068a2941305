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
from tests.corpus.variant import wrong

WHOLE = PARTIAL + SAVE + RENAME
OWN_WEIGHTS = "        model.load_weights(checkpoint(args.log_dir, done))\n"

WRONG = (
    wrong(102, "nothing done at capstone 2", fails=1, check="initialised", base="fashion_trainer.py"),
    wrong(102, "gradients not averaged", (WRAPPED, "optimizer"), fails=3, check="mean_gradient"),
    wrong(102, "weights never broadcast", (BROADCAST, ""), fails=4, check="same_weights"),
    wrong(102, "all images on every rank", (SHARE + OWN + TAKEN, ""), fails=5, check="training_steps"),
    wrong(102, "metrics not averaged", (AVERAGE, ""), fails=6, check="mean_metrics"),
    wrong(
        102, "metrics averaged after they are read", (AVERAGE + TARGET, TARGET + AVERAGE), fails=6, check="mean_metrics"
    ),
    wrong(
        102,
        "saved every second epoch",
        (WHOLE, "        if epoch % 2 == 0:\n            return\n" + WHOLE),
        fails=10,
        check="saved_each_epoch",
    ),
    wrong(
        102,
        "saved where the accuracy is the best so far",
        (
            WHOLE,
            '        if logs["val_accuracy"] <= getattr(self, "best", -10):\n'
            "            return\n"
            f'        self.best = logs["val_accuracy"]\n{WHOLE}',
        ),
        fails=10,
        check="saved_each_epoch",
    ),
    wrong(102, "written under its final name", (WHOLE, DIRECT), fails=10, check="renamed"),
    wrong(
        102,
        "every rank saves",
        (UNDER_RANK_0, "    callbacks += [Keeper(args.log_dir)]\n"),
        (PARTIAL, '        partial = self.folder / f"partial-{hvd.rank()}.h5"\n'),
        fails=10,
        check="one_writer",
    ),
    wrong(
        102,
        "one rank of each host saves",
        (
            UNDER_RANK_0,
            "    if hvd.rank() == 0:\n"
            "        callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"
            "    if hvd.local_rank() == 0:\n"
            "        callbacks.append(Keeper(args.log_dir))\n",
        ),
        fails=10,
        check="one_writer",
    ),
    wrong(102, "every rank looks for itself", (DONE, "    done = newest(args.log_dir)\n"), fails=10, check="goes_on"),
    wrong(
        102,
        "the newest by its name as text",
        (LAST, '    return int(max((name[1] for name in names if name), default="0"))\n'),
        fails=10,
        check="goes_on",
    ),
    wrong(
        102,
        "the newest by the time of writing",
        (
            NAMES + LAST,
            '    paths = sorted(Path(folder).glob("checkpoint-*.h5"), key=lambda path: path.stat().st_mtime)\n'
            '    return int(paths[-1].stem.split("-")[1]) if paths else 0\n',
        ),
        fails=10,
        check="goes_on",
    ),
    wrong(102, "never resumed", (DONE, "    done = 0\n"), fails=10, check="goes_on"),
    wrong(102, "epochs counted from 0 again", (INITIAL, ""), fails=10, check="goes_on"),
    wrong(
        102,
        "weights without the optimizer",
        (MODEL, "    model = new_model(args)\n    if done and hvd.rank() == 0:\n" + OWN_WEIGHTS),
        fails=10,
        check="state_restored",
    ),
    wrong(
        102,
        "each host's own file",
        (LOAD, "    return hvd.load_model(checkpoint(folder, epochs))\n"),
        fails=10,
        check="loaded_everywhere",
    ),
    wrong(
        102,
        "loaded on rank 0 alone",
        (MODEL, "    model = load_model(args.log_dir, done) if done and not hvd.rank() else new_model(args)\n"),
        fails=10,
        check="loaded_everywhere",
    ),
    wrong(
        102,
        "loaded with an optimizer that does not average",
        (LOADED, "return tf.keras.models.load_model(file.name)"),
        fails=10,
        check="loaded_everywhere",
    ),
    wrong(
        102,
        "as many epochs again after a restart",
        (EPOCHS, "        epochs=done + args.epochs,\n"),
        check="no_more_images",
    ),
    wrong(
        102,
        "an image more on some ranks",
        (SHARE, ""),
        (OWN, "        own = slice(hvd.rank(), None, hvd.size())\n"),
        check="no_more_images",
    ),
    wrong(102, "the rate of one process", (RATE, "learning_rate=args.rate"), check="accuracy"),
    wrong(
        102, "the rate of the ranks of one host", (RATE, "learning_rate=args.rate * hvd.local_size()"), check="accuracy"
    ),
)
