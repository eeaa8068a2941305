"""Correct scripts of the second part, steps 8 to 10, in styles that people use. Each one passes.

Classes, loggers, files about the run, other ways to read images, and to write checkpoints.
"""

from tests.corpus.horovod_passages import IMPORT
from tests.corpus.production_passages import (
    BEFORE_FIT,
    FILES,
    FINAL,
    LIST,
    LOCAL_COPY,
    PARTIAL,
    RENAME,
    RESULTS,
    SAVE,
    SHARE_OF,
    STAGE,
    TRAIN,
    TRAINING,
    VALIDATE,
    datasets,
    shuffled_files,
)
from tests.corpus.variant import after, before, importing, right

INIT = "hvd.init()\n"
VERBOSE = "verbose = 1 if hvd.rank() == 0 else 0\n"
NUMPY = "import numpy as np\n"
KEEP_HISTORY = (BEFORE_FIT, f"history = {BEFORE_FIT}")

# --- Step 8 -----------------------------------------------------------------------------------------------------------

_STAGE = '''@dataclass
class Staging:
    """Where the data are, and where this host has its copy."""

    url: str
    copy: Path = field(default_factory=lambda: Path(args.cache_dir))
    errors: List[str] = field(default_factory=list)

    @property
    def is_copier(self) -> bool:
        return hvd.local_rank() == 0

    def run(self) -> "Staging":
        """Copy on one rank of each host. All ranks wait, and end if a copy failed."""
        if self.is_copier:
            try:
                store.download(self.url, self.copy, progress=hvd.rank() == 0)
            except store.StoreError as error:
                self.errors.append(str(error))
                print(f"[rank {hvd.rank()}] {error}", file=sys.stderr)
        failed = hvd.allreduce(len(self.errors), op=hvd.Sum, name="failed copies")
        if int(failed):
            sys.exit(f"rank {hvd.rank()}: {int(failed)} hosts have no data")
        return self


data_dir = Staging(args.data_url).run().copy
'''
_LOGGER = """
logger = logging.getLogger("imagenet" if hvd.rank() == 0 else f"imagenet.rank{hvd.rank()}")
logger.setLevel(logging.INFO)
console = logging.StreamHandler()
console.setFormatter(logging.Formatter(f"%(asctime)s rank {hvd.rank()}: %(message)s"))
logger.addHandler(console)
if hvd.rank() == 0:
    Path(args.log_dir).mkdir(parents=True, exist_ok=True)
    logger.addHandler(logging.FileHandler(Path(args.log_dir, "train.log")))
logger.info("host %s, local rank %d of %d", socket.gethostname(), hvd.local_rank(), hvd.local_size())
"""
_ENVIRONMENT = '''

def about_the_run():
    """Return what one wants to know of a run later."""
    try:
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True, stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.SubprocessError):
        commit = None
    return {
        "arguments": vars(args),
        "command": sys.argv,
        "commit": commit,
        "ranks": hvd.size(),
        "versions": {module.__name__: module.__version__ for module in (horovod, np, tf)},
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


if hvd.rank() == 0:
    Path(args.log_dir).mkdir(parents=True, exist_ok=True)
    Path(args.log_dir, "run.json").write_text(json.dumps(about_the_run(), indent=2))
'''

_STEP_8 = (
    right(8, "staged by a dataclass", base=FINAL)(
        importing("import sys", "from dataclasses import dataclass, field", "from typing import List"),
        (LOCAL_COPY, ""),
        (STAGE, _STAGE),
    ),
    right(8, "a logger for each rank, with a file on rank 0", base=FINAL)(
        importing("import logging", "import socket"),
        after(VERBOSE, _LOGGER),
        ("        print(error)\n", '        logger.error("the data cannot be copied: %s", error)\n'),
        before(RESULTS, 'logger.info("trained for %d epochs", args.epochs)\n'),
    ),
    right(8, "a file about the run among the results", base=FINAL)(
        importing("import datetime", "import json", "import subprocess", "import sys"),
        (IMPORT, f"import horovod\n{IMPORT}"),
        after(VERBOSE, _ENVIRONMENT),
    ),
)

# --- Step 9 -----------------------------------------------------------------------------------------------------------

_SHARE = '''class Share:
    """This rank's share of the images of a directory, epoch after epoch."""

    def __init__(self, images, seeds):
        self.images, self.seeds = images, seeds
        self.each = -(-images.samples // hvd.size())

    def __len__(self):
        """Return the steps of an epoch."""
        return -(-self.each // self.images.batch_size)

    def numbers(self, seed):
        """Return the numbers of the images in an epoch."""
        order = np.random.Generator(np.random.PCG64(seed)).permutation(self.images.samples)
        padded = np.concatenate([order, order[: self.each * hvd.size() - len(order)]])
        return padded[hvd.rank() :: hvd.size()]

    def __iter__(self):
        for seed in self.seeds:
            numbers = self.numbers(seed)
            for batch in np.split(numbers, range(self.images.batch_size, self.each, self.images.batch_size)):
                yield self.images._get_batches_of_transformed_samples(batch)


training = Share(train_iter, itertools.count(initial_epoch))
validation = Share(val_iter, itertools.repeat(0))

'''
_OPENED = '''def read(images, number):
    """Return an image, changed at random if it is for training, and its label."""
    with Image.open(images.filepaths[number]) as file:
        pixels = np.asarray(file.convert("RGB").resize(shape, Image.NEAREST), dtype=np.float32)
    generator = images.image_data_generator
    pixels = generator.apply_transform(pixels, generator.get_random_transform(pixels.shape))
    return generator.standardize(pixels), np.eye(images.num_classes, dtype=np.float32)[images.classes[number]]


def share_of(images, epochs):
    """Yield this rank's batches, whose images are read by threads."""
    with ThreadPoolExecutor(max_workers=2) as threads:
        for epoch in epochs:
            order = np.random.default_rng(epoch).permutation(images.samples)
            order = np.resize(order, math.ceil(images.samples / hvd.size()) * hvd.size())[hvd.rank() :: hvd.size()]
            for first in range(0, len(order), images.batch_size):
                batch = order[first : first + images.batch_size]
                pixels, labels = zip(*threads.map(partial(read, images), batch))
                yield np.stack(pixels), np.stack(labels)


'''

_DIRECTORIES = '''def images_of(part):
    """Return the images of a part and their classes, one by one, in the order of their names."""
    return tf.keras.utils.image_dataset_from_directory(
        data_dir / part,
        label_mode="categorical",
        batch_size=None,
        image_size=shape,
        interpolation="nearest",
        shuffle=False,
    )


def read(file):
    """Return an image and its class, as zeros and a one."""
    image = tf.image.resize(tf.io.decode_png(tf.io.read_file(file), channels=3), shape, method="nearest")
    return image, tf.cast(tf.strings.split(file, "/")[-2] == kinds, tf.float32)


def share_of(epoch):
    """Return the batches of this rank's share in an epoch. Images that do not divide evenly are left out."""
    order = tf.random.experimental.stateless_shuffle(files, seed=[epoch, 0])
    share = tf.data.Dataset.from_tensor_slices(order).shard(hvd.size(), hvd.rank()).take(len(files) // hvd.size())
    return share.map(read).batch(args.batch_size)


train_images, val_images = images_of("train"), images_of("val")
files, kinds = tf.constant(train_images.file_paths), tf.constant(train_images.class_names)
train_share = tf.data.Dataset.range(initial_epoch, args.epochs).flat_map(share_of).map(change).map(prepare).prefetch(2)
val_each = math.ceil(len(val_images) / hvd.size())
val_share = val_images.concatenate(val_images).take(val_each * hvd.size()).shard(hvd.size(), hvd.rank())
val_share = val_share.batch(args.val_batch_size).map(prepare)

'''

_STEP_9 = (
    right(9, "a share as a class", base=FINAL)(
        (SHARE_OF, ""),
        before(TRAINING, _SHARE),
        (TRAIN, "    iter(training),\n    steps_per_epoch=len(training),\n"),
        (VALIDATE, "    validation_data=iter(validation),\n    validation_steps=len(validation),\n"),
    ),
    right(9, "images opened by Pillow in threads", base=FINAL)(
        importing("from concurrent.futures import ThreadPoolExecutor", "from functools import partial"),
        after(NUMPY, "from PIL import Image\n"),
        (SHARE_OF, _OPENED),
    ),
    right(9, "lists of files, shuffled and sharded by tf.data", base=FINAL)(
        *datasets(FILES, 'steps_of("train", args.batch_size)')
    ),
    right(9, "shuffled by a data set, with one seed for all ranks", base=FINAL)(
        importing("import functools"),
        *datasets(shuffled_files("epoch + 1", "tf.random.set_seed(7)\n"), 'steps_of("train", args.batch_size)'),
    ),
    right(9, "data sets of directories, sharded by tf.data", base=FINAL)(
        *datasets(_DIRECTORIES, "math.ceil(len(files) // hvd.size() / args.batch_size)")
    ),
)

# --- Step 10 ----------------------------------------------------------------------------------------------------------

_WHOLE = '''@contextlib.contextmanager
def whole(path):
    """Give a name to write to, which becomes the path once the file is whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}-", suffix=".unfinished")
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


'''
_SIGTERM = '''

class EndOnSignal(tf.keras.callbacks.Callback):
    """End training after the epoch in which any rank is asked to end."""

    def __init__(self):
        super().__init__()
        self.asked = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: self.asked.set())

    def on_epoch_end(self, epoch, logs=None):
        if float(hvd.allreduce(float(self.asked.is_set()), op=hvd.Sum, name="asked to end")):
            self.model.stop_training = True


'''

_STEP_10 = (
    right(10, "written in a context that renames", base=FINAL)(
        importing("import contextlib"),
        before("class SaveCheckpoint(", _WHOLE),
        (
            PARTIAL + SAVE + RENAME,
            '        with whole(path) as partial:\n            self.model.save(partial, save_format="h5")\n',
        ),
    ),
    right(10, "SIGTERM ends training after the epoch", base=FINAL)(
        importing("import signal", "import threading"),
        before(LIST, _SIGTERM),
        before(BEFORE_FIT, "callbacks.append(EndOnSignal())\n\n"),
    ),
)

CORRECT = (*_STEP_8, *_STEP_9, *_STEP_10)
