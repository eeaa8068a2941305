"""Correct scripts of the second part's capstone. Each one passes."""

from tests.corpus.capstone_2_passages import (
    BROADCAST,
    DONE,
    FIT,
    LAST,
    LOAD,
    NAMES,
    OF_RANK_0,
    OWN,
    PARTIAL,
    RATE,
    RENAME,
    SAVE,
    SOLUTION,
    TARGET,
    UNDER_RANK_0,
    VERBOSE,
    WRAPPED,
)
from tests.corpus.variant import after, importing, passage, right

_SETTINGS = '''@dataclass
class Settings:
    """What a training is to do."""

    data_dir: str
    log_dir: str
    batch_size: int
    val_batch_size: int
    hidden: int
    epochs: int
    rate: float
    target: float
    train_samples: Optional[int]
    test_samples: Optional[int]
    seed: Optional[int]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Settings":
        """Take the settings from the command line's arguments."""
        hints = get_type_hints(cls)
        settings = cls(**{each.name: getattr(arguments, each.name) for each in fields(cls)})
        assert isinstance(settings.rate, hints["rate"])
        return settings


class Clock(tf.keras.callbacks.Callback):
    """Print how long an epoch took."""

    def on_epoch_begin(self, epoch: int, logs: Optional[dict] = None) -> None:
        """Start the clock."""
        self.began = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Optional[dict] = None) -> None:
        """Stop it."""
        print(f"epoch {epoch + 1}: {time.perf_counter() - self.began:.2f} s")

'''
_PLOT = """    if hvd.rank() == 0:
        figure = Figure()
        figure.subplots().plot(fit.epoch, fit.history.get("val_accuracy", []))
        figure.savefig(Path(args.log_dir, "accuracy.png"))
"""

CORRECT = (
    right(102, "the solution of capstone 2", in_ci=True)(),
    right(102, "every size-th image")((OWN, "        own = slice(hvd.rank(), share * hvd.size(), hvd.size())\n")),
    right(102, "the epoch broadcast as a number")(
        (DONE, "    done = int(hvd.broadcast(float(newest(args.log_dir)), root_rank=0))\n")
    ),
    right(102, "the newest checkpoint in a loop")(
        (
            NAMES + LAST,
            "    found = 0\n"
            "    for path in Path(folder).glob('checkpoint-*.h5'):\n"
            "        found = max(found, int(path.stem.split('-')[1]))\n"
            "    return found\n",
        )
    ),
    right(102, "a hidden file until it is whole")(
        (PARTIAL, '        partial = str(self.folder / ".saving")\n'),
        (RENAME, "        os.replace(partial, checkpoint(self.folder, epoch + 1))\n"),
    ),
    right(102, "the checkpoint in a temporary folder of each rank")(
        (
            LOAD,
            "    path = checkpoint(folder, epochs)\n"
            "    saved = broadcast_object(path.read_bytes() if hvd.rank() == 0 else None, root_rank=0)\n"
            "    with tempfile.TemporaryDirectory() as own:\n"
            "        copy = Path(own, path.name)\n"
            "        copy.write_bytes(saved)\n"
            "        return hvd.load_model(copy)\n",
        )
    ),
    right(102, "the rate set by a schedule")(
        (RATE, "learning_rate=args.rate"),
        (TARGET, "        tf.keras.callbacks.LearningRateScheduler(lambda epoch: args.rate * hvd.size()),\n" + TARGET),
    ),
    right(102, "a warm-up of one epoch")(
        (
            TARGET,
            "        hvd.callbacks.LearningRateWarmupCallback(\n"
            "            args.rate * hvd.size(), 1, momentum_correction=False\n"
            "        ),\n" + TARGET,
        )
    ),
    right(102, "weights broadcast before training")(
        ("from horovod.tensorflow import broadcast_object", "import horovod.tensorflow as hvd_tf"),
        ("broadcast_object(", "hvd_tf.broadcast_object("),
        (BROADCAST, ""),
        (FIT, f"    hvd_tf.broadcast_variables(model.variables, root_rank=0)\n{FIT}"),
    ),
    right(102, "gradients sent in 16 bits")(
        (WRAPPED, "hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.fp16)"),
        ("hvd.load_model(file.name)", "hvd.load_model(file.name, compression=hvd.Compression.fp16)"),
    ),
    right(102, "callbacks and verbosity by arithmetic")(
        (
            UNDER_RANK_0,
            "    callbacks += [tf.keras.callbacks.TensorBoard(args.log_dir)] * (not hvd.rank())\n"
            "    callbacks += [] if hvd.rank() else [Keeper(args.log_dir)]\n",
        ),
        (VERBOSE, "        verbose=2 * (not hvd.rank()),\n"),
    ),
    right(102, "the callback saves on rank 0 alone")(
        (
            UNDER_RANK_0,
            "    callbacks.append(Keeper(args.log_dir))\n"
            "    if hvd.rank() == 0:\n"
            "        callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n",
        ),
        (PARTIAL, f"        if hvd.rank() != 0:\n            return\n{PARTIAL}"),
        (SAVE, SAVE.replace(', save_format="h5"', "")),
    ),
    right(102, "settings in a typed dataclass, speed and a plot on rank 0")(
        importing(
            "import time", "from dataclasses import dataclass, fields", "from typing import Optional, get_type_hints"
        ),
        after("import tensorflow as tf\n", "from matplotlib.figure import Figure\n"),
        (passage(SOLUTION, "class Keeper("), f"{_SETTINGS}\n\nclass Keeper(tf.keras.callbacks.Callback):\n"),
        ("    arguments = parser.parse_args()\n", "    arguments = Settings.of(parser.parse_args())\n"),
        (OF_RANK_0, f"{OF_RANK_0}        callbacks.append(Clock())\n"),
        after(f"{VERBOSE}    )\n", _PLOT),
    ),
)
