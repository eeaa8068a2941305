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
    wrong(102, "nothing done at capstone 2", fails=1, check="initialised", base="fashion_trainer.py")(),
    wrong(102, "gradients not averaged", fails=3, check="mean_gradient")((WRAPPED, "optimizer")),
    wrong(102, "weights never broadcast", fails=4, check="same_weights")((BROADCAST, "")),
    wrong(102, "all images on every rank", fails=5, check="training_steps")((SHARE + OWN + TAKEN, "")),
    wrong(102, "metrics not averaged", fails=6, check="mean_metrics")((AVERAGE, "")),
    wrong(102, "metrics averaged after they are read", fails=6, check="mean_metrics")(
        (AVERAGE + TARGET, TARGET + AVERAGE)
    ),
    wrong(102, "saved every second epoch", fails=10, check="saved_each_epoch")(
        (WHOLE, "        if epoch % 2 == 0:\n            return\n" + WHOLE)
    ),
    wrong(102, "saved where the accuracy is the best so far", fails=10, check="saved_each_epoch")(
        (
            WHOLE,
            '        if logs["val_accuracy"] <= getattr(self, "best", -10):\n'
            "            return\n"
            f'        self.best = logs["val_accuracy"]\n{WHOLE}',
        )
    ),
    wrong(102, "written under its final name", fails=10, check="renamed")((WHOLE, DIRECT)),
    wrong(102, "every rank saves", fails=10, check="one_writer")(
        (UNDER_RANK_0, "    callbacks += [Keeper(args.log_dir)]\n"),
        (PARTIAL, '        partial = self.folder / f"partial-{hvd.rank()}.h5"\n'),
    ),
    wrong(102, "one rank of each host saves", fails=10, check="one_writer")(
        (
            UNDER_RANK_0,
            "    if hvd.rank() == 0:\n"
            "        callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"
            "    if hvd.local_rank() == 0:\n"
            "        callbacks.append(Keeper(args.log_dir))\n",
        )
    ),
    wrong(102, "every rank looks for itself", fails=10, check="goes_on")((DONE, "    done = newest(args.log_dir)\n")),
    wrong(102, "the newest by its name as text", fails=10, check="goes_on")(
        (LAST, '    return int(max((name[1] for name in names if name), default="0"))\n')
    ),
    wrong(102, "the newest by the time of writing", fails=10, check="goes_on")(
        (
            NAMES + LAST,
            '    paths = sorted(Path(folder).glob("checkpoint-*.h5"), key=lambda path: path.stat().st_mtime)\n'
            '    return int(paths[-1].stem.split("-")[1]) if paths else 0\n',
        )
    ),
    wrong(102, "never resumed", fails=10, check="goes_on")((DONE, "    done = 0\n")),
    wrong(102, "epochs counted from 0 again", fails=10, check="goes_on")((INITIAL, "")),
    wrong(102, "weights without the optimizer", fails=10, check="state_restored")(
        (MODEL, "    model = new_model(args)\n    if done and hvd.rank() == 0:\n" + OWN_WEIGHTS)
    ),
    wrong(102, "each host's own file", fails=10, check="loaded_everywhere")(
        (LOAD, "    return hvd.load_model(checkpoint(folder, epochs))\n")
    ),
    wrong(102, "loaded on rank 0 alone", fails=10, check="loaded_everywhere")(
        (MODEL, "    model = load_model(args.log_dir, done) if done and not hvd.rank() else new_model(args)\n")
    ),
    wrong(102, "loaded with an optimizer that does not average", fails=10, check="loaded_everywhere")(
        (LOADED, "return tf.keras.models.load_model(file.name)")
    ),
    wrong(102, "as many epochs again after a restart", check="no_more_images")(
        (EPOCHS, "        epochs=done + args.epochs,\n")
    ),
    wrong(102, "an image more on some ranks", fails=5, check="training_steps")(
        (SHARE, ""), (OWN, "        own = slice(hvd.rank(), None, hvd.size())\n")
    ),
    wrong(102, "the rate of one process", check="accuracy")((RATE, "learning_rate=args.rate")),
    wrong(102, "the rate of the ranks of one host", check="accuracy")(
        (RATE, "learning_rate=args.rate * hvd.local_size()")
    ),
)
