"""Passages of the second part's solutions that rows replace, and edits that correct and wrong rows share."""

import textwrap

from course.steps import SOLUTIONS
from tests.corpus.variant import before, importing, passage, section

START = "imagenet_resnet50.py"
FINAL = "imagenet_resnet50_solution.py"

OBJECT_IMPORT = "from horovod.tensorflow import broadcast_object\n"

LOCAL_COPY = "data_dir = Path(args.cache_dir)\n"
COPIER = "if hvd.local_rank() == 0:\n    try:\n"
DOWNLOAD = "store.download(args.data_url, data_dir, progress=verbose)"
CAUGHT = "except store.StoreError as error:\n        print(error)\n        failures = 1\n"
WAIT = passage(FINAL, "failures = int(hvd.allreduce(")
ANY = "if failures:\n"
GIVE_UP = passage(FINAL, "raise SystemExit(")
STAGE = passage(FINAL, "failures = 0", "raise SystemExit(")
SAVE_WEIGHTS = '    model.save_weights(Path(args.log_dir, "weights.h5"))\n'
UPLOAD = passage(FINAL, "model.save_weights(", "store.upload(").removeprefix(SAVE_WEIGHTS)
RESULTS = f"if hvd.rank() == 0:\n{SAVE_WEIGHTS}{UPLOAD}"

COUNT = "    return math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)\n"
EPOCHS = "    for epoch in epochs:\n"
SHUFFLE = "np.random.default_rng(epoch).permutation(images.samples)"
PAD = "np.resize(order, math.ceil(images.samples / hvd.size()) * hvd.size())"
TAKE = "order[hvd.rank() :: hvd.size()]"
TRAIN = "    share_of(train_iter, itertools.count(initial_epoch)),\n    steps_per_epoch=steps_of(train_iter),\n"
VALIDATE = "    validation_data=share_of(val_iter, itertools.repeat(0)),\n    validation_steps=steps_of(val_iter),\n"

CHECKPOINT_PATH = "    return Path(args.log_dir, args.checkpoint_format.format(epoch=epoch))\n"
PATH = "        path = checkpoint_path(epoch + 1)\n"
DOCUMENTED = passage(FINAL, '"""Write the file under another name first')
PARTIAL = '        partial = path.with_suffix(".partial")\n'
SAVE = '        self.model.save(partial, save_format="h5")\n'
RENAME = "        partial.replace(path)\n"
NEWEST = "    return next((epoch for epoch in range(args.epochs, 0, -1) if checkpoint_path(epoch).exists()), 0)\n"
RESUME = "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)\n"
SEND = "    checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None\n"
LOAD = (
    '    with tempfile.NamedTemporaryFile(suffix=".h5") as file:\n'
    "        file.write(broadcast_object(checkpoint, root_rank=0))\n"
    "        file.flush()\n"
    "        model = hvd.load_model(file.name)\n"
)
SHARE_OF = (SOLUTIONS / "imagenet_resnet50_after_step_09.py").read_text()
SHARE_OF = SHARE_OF[SHARE_OF.index("def share_of(") : SHARE_OF.index("# --- Model -")]
AFTER_10 = (SOLUTIONS / "imagenet_resnet50_after_step_10.py").read_text()
LOAD_OR_BUILD = AFTER_10[AFTER_10.index("if initial_epoch:\n") : AFTER_10.index("callbacks = [\n")]
BUILD = textwrap.dedent(LOAD_OR_BUILD.partition("else:\n")[2])
CREATE = "model = create_model()\n"
KEEPER = "    callbacks.append(SaveCheckpoint())\n"
ON_ONE_RANK = "if hvd.rank() == 0:\n    callbacks.append("
BEFORE_FIT = "model.fit(\n"

FULL_RATE = "full_lr = args.base_lr * hvd.size()\n"
DROPPED = "    return full_lr * 0.1**drops\n"
SCHEDULER = "    tf.keras.callbacks.LearningRateScheduler(lr_schedule),\n"
WARMUP = (
    "    hvd.callbacks.LearningRateWarmupCallback("
    "full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose),\n"
)
LIST = "callbacks = [\n"


def within(spaces: int, *lines: str) -> str:
    """Return the lines, indented by so many spaces."""
    return textwrap.indent("".join(f"{line}\n" for line in lines), " " * spaces)


def copied_by(*lines: str, error: str = "OSError") -> tuple[tuple[str, str], ...]:
    """Return edits that copy the data with these lines instead, which may raise this error."""
    return (within(8, DOWNLOAD), within(8, *lines)), ("store.StoreError", error)


def built_then(*lines: str) -> tuple[str, str]:
    """Return an edit that always builds the model, then runs these lines if there is a checkpoint."""
    return LOAD_OR_BUILD, f"{BUILD}if initial_epoch:\n{within(4, *lines)}\n"


def state_by_hand(*lines: str) -> tuple[tuple[str, str], ...]:
    """Return edits that save weights and optimizer variables with pickle, and restore them with these lines."""
    return (
        importing("import pickle"),
        (
            SAVE,
            "        variables = [variable.numpy() for variable in self.model.optimizer.variables]\n"
            "        partial.write_bytes(pickle.dumps((self.model.get_weights(), variables)))\n",
        ),
        built_then(*lines),
    )


SET_BY_HAND = (
    "weights, variables = pickle.loads(state)",
    "model.set_weights(weights)",
    "model.optimizer.build(model.trainable_variables)",
    "for variable, value in zip(model.optimizer.variables, variables):",
    "    variable.assign(value)",
)


def warm_up(*lines: str) -> tuple[tuple[str, str], ...]:
    """Return edits that warm up in a callback class with these methods, instead of Horovod's callback."""
    warmup = f"class Warmup(tf.keras.callbacks.Callback):\n{within(4, *lines)}\n\n"
    return (LIST, warmup + LIST), (WARMUP, "    Warmup(),\n")


TRAINING = section(FINAL, "Training")

# Without Keras' iterators: the images of a folder, and their augmentation, as data sets.
ITERATORS = passage(FINAL, "train_gen = ImageDataGenerator(", "val_iter = val_gen.flow_from_directory(")
STEPS_OF = passage(FINAL, "def steps_of(", "return math.ceil(math.ceil(")
CHANGE = '''augment = tf.keras.Sequential(
    [
        layers.RandomFlip("horizontal"),
        layers.RandomTranslation(0.1, 0.1, fill_mode="nearest"),
        layers.RandomZoom(0.1, 0.1, fill_mode="nearest"),
    ]
)


def change(images, classes):
    """Return a batch of images that are changed at random."""
    return augment(images, training=True), classes


def prepare(images, classes):
    """Return a batch as the network takes it."""
    return resnet50.preprocess_input(tf.cast(images, tf.float32)), classes


'''
FILES = '''kinds = tf.constant(sorted(folder.name for folder in (data_dir / "train").iterdir()))


def files_of(part):
    """Return the names of a part's files, in the same order on all ranks."""
    return sorted(map(str, (data_dir / part).glob("*/*.*")))


def steps_of(part, batch_size):
    """Return how many batches a rank's share has."""
    return math.ceil(math.ceil(len(files_of(part)) / hvd.size()) / batch_size)


def read(file):
    """Return an image and its class, as zeros and a one."""
    image = tf.io.decode_image(tf.io.read_file(file), channels=3, expand_animations=False)
    image = tf.image.resize(tf.ensure_shape(image, (None, None, 3)), shape, method="nearest")
    return image, tf.cast(tf.strings.split(file, "/")[-2] == kinds, tf.float32)


def share_of(part, batch_size, epochs):
    """Return the batches of this rank's share in these epochs."""
    files = files_of(part)

    def of_epoch(epoch):
        order = tf.random.experimental.stateless_shuffle(files, seed=tf.stack([0, epoch]))
        order = tf.concat([order, order[: -len(files) % hvd.size()]], axis=0)
        order = tf.data.Dataset.from_tensor_slices(order)
        return order.shard(hvd.size(), hvd.rank()).map(read).batch(batch_size)

    return epochs.flat_map(of_epoch)


train_share = share_of("train", args.batch_size, tf.data.Dataset.range(initial_epoch, args.epochs))
train_share = train_share.map(change).map(prepare).prefetch(2)
val_share = share_of("val", args.val_batch_size, tf.data.Dataset.range(1)).map(prepare)

'''


def shuffled_files(seed: str, first: str = "") -> str:
    """Return FILES with Dataset.shuffle in place of stateless_shuffle.

    Args:
        seed: the seed of the shuffle, an expression with the number of the epoch.
        first: lines before the shares are made.
    """
    unchanged = FILES[: FILES.index("    def of_epoch(")]
    return f"""{unchanged}    def of_epoch(epoch):
        order = tf.data.Dataset.from_tensor_slices(files)
        order = order.shuffle(len(files), seed={seed}, reshuffle_each_iteration=False)
        order = order.concatenate(order).take(steps_of(part, 1) * hvd.size())
        return order.shard(hvd.size(), hvd.rank()).map(read).batch(batch_size)

    return functools.reduce(tf.data.Dataset.concatenate, map(of_epoch, epochs))


{first}train_share = share_of("train", args.batch_size, range(initial_epoch, args.epochs))
train_share = train_share.map(change).map(prepare).prefetch(2)
val_share = share_of("val", args.val_batch_size, [0]).map(prepare)

"""


def datasets(shares: str, steps: str) -> tuple[tuple[str, str], ...]:
    """Return edits that read images by tf.data alone: the shares, and how many steps an epoch has."""
    return (
        (ITERATORS, "shape = (args.image_size, args.image_size)\n"),
        (STEPS_OF, ""),
        (SHARE_OF, ""),
        before(TRAINING, CHANGE + shares),
        (TRAIN, f"    train_share,\n    steps_per_epoch={steps},\n"),
        (VALIDATE, "    validation_data=val_share,\n"),
    )
