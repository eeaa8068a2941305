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
from tests.corpus.variant import Variant, after, importing, passage

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
    Variant("the solution of capstone 2", 102, (), in_ci=True),
    Variant("every size-th image", 102, ((OWN, "        own = slice(hvd.rank(), share * hvd.size(), hvd.size())\n"),)),
    Variant(
        "the epoch broadcast as a number",
        102,
        ((DONE, "    done = int(hvd.broadcast(float(newest(args.log_dir)), root_rank=0))\n"),),
    ),
    Variant(
        "the newest checkpoint in a loop",
        102,
        (
            (
                NAMES + LAST,
                "    found = 0\n"
                "    for path in Path(folder).glob('checkpoint-*.h5'):\n"
                "        found = max(found, int(path.stem.split('-')[1]))\n"
                "    return found\n",
            ),
        ),
    ),
    Variant(
        "a hidden file until it is whole",
        102,
        (
            (PARTIAL, '        partial = str(self.folder / ".saving")\n'),
            (RENAME, "        os.replace(partial, checkpoint(self.folder, epoch + 1))\n"),
        ),
    ),
    Variant(
        "the checkpoint in a temporary folder of each rank",
        102,
        (
            (
                LOAD,
                "    path = checkpoint(folder, epochs)\n"
                "    saved = broadcast_object(path.read_bytes() if hvd.rank() == 0 else None, root_rank=0)\n"
                "    with tempfile.TemporaryDirectory() as own:\n"
                "        copy = Path(own, path.name)\n"
                "        copy.write_bytes(saved)\n"
                "        return hvd.load_model(copy)\n",
            ),
        ),
    ),
    Variant(
        "the rate set by a schedule",
        102,
        (
            (RATE, "learning_rate=args.rate"),
            (
                TARGET,
                "        tf.keras.callbacks.LearningRateScheduler(lambda epoch: args.rate * hvd.size()),\n" + TARGET,
            ),
        ),
    ),
    Variant(
        "a warm-up of one epoch",
        102,
        (
            (
                TARGET,
                "        hvd.callbacks.LearningRateWarmupCallback(\n"
                "            args.rate * hvd.size(), 1, momentum_correction=False\n"
                "        ),\n" + TARGET,
            ),
        ),
    ),
    Variant(
        "weights broadcast before training",
        102,
        (
            ("from horovod.tensorflow import broadcast_object", "import horovod.tensorflow as hvd_tf"),
            ("broadcast_object(", "hvd_tf.broadcast_object("),
            (BROADCAST, ""),
            (FIT, f"    hvd_tf.broadcast_variables(model.variables, root_rank=0)\n{FIT}"),
        ),
    ),
    Variant(
        "gradients sent in 16 bits",
        102,
        (
            (WRAPPED, "hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.fp16)"),
            ("hvd.load_model(file.name)", "hvd.load_model(file.name, compression=hvd.Compression.fp16)"),
        ),
    ),
    Variant(
        "callbacks and verbosity by arithmetic",
        102,
        (
            (
                UNDER_RANK_0,
                "    callbacks += [tf.keras.callbacks.TensorBoard(args.log_dir)] * (not hvd.rank())\n"
                "    callbacks += [] if hvd.rank() else [Keeper(args.log_dir)]\n",
            ),
            (VERBOSE, "        verbose=2 * (not hvd.rank()),\n"),
        ),
    ),
    Variant(
        "the callback saves on rank 0 alone",
        102,
        (
            (
                UNDER_RANK_0,
                "    callbacks.append(Keeper(args.log_dir))\n"
                "    if hvd.rank() == 0:\n"
                "        callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n",
            ),
            (PARTIAL, f"        if hvd.rank() != 0:\n            return\n{PARTIAL}"),
            (SAVE, SAVE.replace(', save_format="h5"', "")),
        ),
    ),
    Variant(
        "settings in a typed dataclass, speed and a plot on rank 0",
        102,
        (
            importing(
                "import time",
                "from dataclasses import dataclass, fields",
                "from typing import Optional, get_type_hints",
            ),
            after("import tensorflow as tf\n", "from matplotlib.figure import Figure\n"),
            (passage(SOLUTION, "class Keeper("), f"{_SETTINGS}\n\nclass Keeper(tf.keras.callbacks.Callback):\n"),
            ("    arguments = parser.parse_args()\n", "    arguments = Settings.of(parser.parse_args())\n"),
            (OF_RANK_0, f"{OF_RANK_0}        callbacks.append(Clock())\n"),
            after(f"{VERBOSE}    )\n", _PLOT),
        ),
    ),
)
