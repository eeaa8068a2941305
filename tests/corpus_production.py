"""Scripts of the second part that learners could hand in, the correct ones first, then those with one mistake each.

A script that fails or hangs in its first run, on data that are there, does not run (fails=0), whatever the mistake was,
but for one that finds no data on its host since nobody has copied them, or not yet: that is step 8's to say. What comes
out only when it is started again, or where nothing is to be copied, is the fault of step 10 or of step 8.
"""

import textwrap

from corpus import IMPORT, IMPORT_BOTH, Variant

from course.steps import SOLUTIONS

# --- Passages of the solutions ----------------------------------------------------------------------------------------

START = "imagenet_resnet50.py"
FINAL = "imagenet_resnet50_solution.py"

FIRST_IMPORT = "import argparse\n"
OBJECT_IMPORT = "from horovod.tensorflow import broadcast_object\n"

LOCAL_COPY = "data_dir = Path(args.cache_dir)\n"
COPIER = "if hvd.local_rank() == 0:\n    try:\n"
DOWNLOAD = "store.download(args.data_url, data_dir, progress=verbose)"
CAUGHT = "except store.StoreError as error:\n        print(error)\n        failures = 1\n"
COPY = f"failures = 0\n{COPIER}        {DOWNLOAD}\n    {CAUGHT}"
WAIT = 'failures = int(hvd.allreduce(tf.constant(failures), op=hvd.Sum, name="data are here"))\n'
WAIT_WORDS = "# Step 8: nobody goes on before all hosts have their data, and if one has not, nobody does.\n"
ANY = "if failures:\n"
GIVE_UP = '    raise SystemExit(f"Rank {hvd.rank()} ends: the data did not get to {failures} of the hosts.")\n'
STAGE = f"{COPY}\n{WAIT_WORDS}{WAIT}{ANY}{GIVE_UP}"
SAVE_WEIGHTS = '    model.save_weights(Path(args.log_dir, "weights.h5"))\n'
UPLOAD = (
    "    # Step 8: whatever training has left is copied to where it stays.\n"
    "    store.upload(args.log_dir, args.train_url)\n"
)
RESULTS = f"if hvd.rank() == 0:\n{SAVE_WEIGHTS}{UPLOAD}"

COUNT = "    return math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)\n"
EPOCHS = "    for epoch in epochs:\n"
SHUFFLE = "np.random.default_rng(epoch).permutation(images.samples)"
PAD = "np.resize(order, math.ceil(images.samples / hvd.size()) * hvd.size())"
TAKE = "order[hvd.rank() :: hvd.size()]"
TRAIN = "    share_of(train_iter, itertools.count(initial_epoch)),\n    steps_per_epoch=steps_of(train_iter),\n"
VALIDATE = "    validation_data=share_of(val_iter, itertools.repeat(0)),\n    validation_steps=steps_of(val_iter),\n"

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


def _importing(*lines: str) -> tuple[str, str]:
    return FIRST_IMPORT, "".join(f"{line}\n" for line in (FIRST_IMPORT.strip(), *lines))


def _within(spaces: int, *lines: str) -> str:
    """Return lines, indented."""
    return textwrap.indent("".join(f"{line}\n" for line in lines), " " * spaces)


def _copied_by(*lines: str, error: str = "OSError") -> tuple[tuple[str, str], ...]:
    """Return edits that copy the data in lines of their own, which may raise this error."""
    return (_within(8, DOWNLOAD), _within(8, *lines)), ("store.StoreError", error)


# --- Correct ----------------------------------------------------------------------------------------------------------

_STEP_8 = (
    Variant("failures counted by allgather", 8, ((WAIT, "failures = sum(hvd.allgather([failures]).numpy())\n"),)),
    Variant(
        "each rank's word broadcast in turn",
        8,
        ((WAIT, "failures = sum(int(hvd.broadcast(failures, root_rank=root)) for root in range(hvd.size()))\n"),),
    ),
    Variant(
        "the worst of all ranks",
        8,
        (
            (IMPORT, IMPORT_BOTH),
            (WAIT, "failures = int(hvd_tf.allreduce(tf.constant(failures), op=hvd_tf.Max))\n"),
        ),
    ),
    Variant("the mean of all ranks", 8, ((WAIT, "failures = float(hvd.allreduce(float(failures)))\n"),)),
    Variant(
        "messages gathered as objects",
        8,
        (
            (IMPORT, f"{IMPORT}from horovod.tensorflow import allgather_object\n"),
            ("failures = 0\n", 'message = ""\n'),
            (CAUGHT, "except store.StoreError as error:\n        message = str(error)\n"),
            (
                WAIT + ANY + GIVE_UP,
                "messages = [told for told in allgather_object(message) if told]\n"
                'if messages:\n    raise SystemExit("; ".join(messages))\n',
            ),
        ),
    ),
    Variant("two barriers", 8, ((GIVE_UP, f'{GIVE_UP}hvd.allreduce(0, name="all are told")\n'),)),
    Variant(
        "the last local rank copies",
        8,
        (("if hvd.local_rank() == 0:", "if hvd.local_rank() == hvd.local_size() - 1:"),),
    ),
    Variant(
        "the first rank of each host by division",
        8,
        (("if hvd.local_rank() == 0:", "if hvd.rank() % hvd.local_size() == 0:"),),
    ),
    Variant(
        "copied by fsspec",
        8,
        (
            _importing("import fsspec"),
            *_copied_by(
                "files, root = fsspec.url_to_fs(args.data_url)",
                'files.get(f"{root}/", f"{data_dir}/", recursive=True)',
            ),
        ),
    ),
    Variant(
        "copied by shutil",
        8,
        (_importing("import shutil"), *_copied_by("shutil.copytree(args.data_url, data_dir, dirs_exist_ok=True)")),
    ),
    Variant(
        "copied file by file",
        8,
        _copied_by(
            "if not Path(args.data_url).is_dir():",
            '    raise FileNotFoundError(f"{args.data_url} is no folder")',
            'for path in Path(args.data_url).rglob("*.*"):',
            "    target = data_dir / path.relative_to(args.data_url)",
            "    target.parent.mkdir(parents=True, exist_ok=True)",
            "    target.write_bytes(path.read_bytes())",
        ),
    ),
    Variant(
        "copied by the operating system's walk",
        8,
        (
            _importing("import shutil"),
            *_copied_by(
                "if not os.path.isdir(args.data_url):",
                "    raise OSError(args.data_url)",
                "for folder, _, names in os.walk(args.data_url):",
                "    target = os.path.join(args.cache_dir, os.path.relpath(folder, args.data_url))",
                "    os.makedirs(target, exist_ok=True)",
                "    for name in names:",
                "        shutil.copy(os.path.join(folder, name), target)",
            ),
        ),
    ),
    Variant(
        "training and validation images copied one after the other",
        8,
        (
            (
                _within(8, DOWNLOAD),
                _within(
                    8,
                    'for part in ("train", "val"):',
                    '    store.download(f"{args.data_url}/{part}", data_dir / part, progress=verbose)',
                ),
            ),
        ),
    ),
    Variant("copied to a folder in the cache", 8, ((LOCAL_COPY, 'data_dir = Path(args.cache_dir, "images")\n'),)),
    Variant(
        "staged by a function",
        8,
        (
            (
                LOCAL_COPY + STAGE,
                "def stage(url, folder):\n"
                '    """Return whether every host has its copy."""\n'
                "    failed = 0\n"
                "    if not hvd.local_rank():\n"
                "        try:\n"
                "            store.download(url, folder)\n"
                "        except store.StoreError as error:\n"
                "            print(error)\n"
                "            failed = 1\n"
                "    return not int(hvd.allreduce(failed, op=hvd.Sum))\n\n\n"
                "data_dir = Path(args.cache_dir)\n"
                "if not stage(args.data_url, data_dir):\n"
                '    raise SystemExit("The data could not be copied.")\n',
            ),
        ),
    ),
    Variant(
        "the copier raises its own error after the barrier",
        8,
        (
            ("failures = 0\n", "problem = None\n"),
            (CAUGHT, "except store.StoreError as error:\n        problem = error\n"),
            (
                WAIT + ANY + GIVE_UP,
                "if int(hvd.allreduce(int(problem is not None), op=hvd.Sum)):\n"
                '    raise problem or RuntimeError("another rank could not copy the data")\n',
            ),
        ),
    ),
    Variant(
        "ended by sys.exit",
        8,
        (_importing("import sys"), (GIVE_UP, '    sys.exit(f"{failures} hosts have no data")\n')),
    ),
    # Its error ends the copier, and with it Horovod on all ranks: those at the barrier fail there.
    Variant(
        "the copier's error never caught",
        8,
        ((STAGE, f"if hvd.local_rank() == 0:\n    {DOWNLOAD}\nhvd.allreduce(0)\n"),),
    ),
    Variant(
        "results copied when training ends",
        8,
        (
            (
                LIST,
                "class Upload(tf.keras.callbacks.Callback):\n"
                "    def on_train_end(self, logs=None):\n"
                '        self.model.save_weights(Path(args.log_dir, "weights.h5"))\n'
                "        store.upload(args.log_dir, args.train_url)\n\n\n"
                f"{LIST}",
            ),
            (RESULTS, ""),
            (BEFORE_FIT, f"if hvd.rank() == 0:\n    callbacks.append(Upload())\n\n{BEFORE_FIT}"),
        ),
    ),
    Variant(
        "an error in copying the results told",
        8,
        (
            (
                UPLOAD,
                _within(
                    4,
                    "try:",
                    "    store.upload(args.log_dir, args.train_url)",
                    "except store.StoreError as error:",
                    '    raise SystemExit(f"The results are still in {args.log_dir}: {error}")',
                ),
            ),
        ),
    ),
    Variant(
        "results copied by shutil",
        8,
        (
            _importing("import shutil"),
            (UPLOAD, "    shutil.copytree(args.log_dir, args.train_url, dirs_exist_ok=True)\n"),
        ),
    ),
    Variant(
        "results copied by fsspec",
        8,
        (
            _importing("import fsspec"),
            (
                UPLOAD,
                "    files, root = fsspec.url_to_fs(args.train_url)\n"
                '    files.put(f"{args.log_dir}/", f"{root}/", recursive=True)\n',
            ),
        ),
    ),
    Variant(
        "results copied while the others wait",
        8,
        ((RESULTS, f'{RESULTS}hvd.allreduce(0, name="results are there")\n'),),
    ),
    Variant("oldest checkpoint, judged at step 8", 8, (("range(args.epochs, 0, -1)", "range(1, args.epochs + 1)"),)),
    Variant("the finished program at step 8", 8, (), base=FINAL),
)

_WHOLE_STEPS = "    return images.samples // (images.batch_size * hvd.size())\n"  # of all ranks together
_WHOLE = "order[: steps_of(images) * images.batch_size * hvd.size()]"
_VALIDATE_ALL = "    validation_data=(batch for batch in val_iter),\n    validation_steps=len(val_iter),\n"

_STEP_9 = (
    Variant(
        "shuffled by the standard library",
        9,
        (
            _importing("import random"),
            (SHUFFLE, "list(range(images.samples))\n        random.Random(epoch).shuffle(order)"),
            (PAD, "order + order[: -len(order) % hvd.size()]"),
        ),
    ),
    Variant(
        "shuffled in place",
        9,
        ((SHUFFLE, "np.arange(images.samples)\n        np.random.RandomState(epoch).shuffle(order)"),),
    ),
    Variant(
        "shuffled by TensorFlow",
        9,
        ((SHUFFLE, "tf.random.experimental.stateless_shuffle(tf.range(images.samples), (0, epoch)).numpy()"),),
    ),
    Variant("a seed by a formula", 9, (("default_rng(epoch)", "default_rng(1000 + 7 * epoch)"),)),
    Variant(
        "one generator for all epochs",
        9,
        (
            (EPOCHS, f"    numbers = np.random.default_rng(42)\n{EPOCHS}"),
            ("np.random.default_rng(epoch)", "numbers"),
            (VALIDATE, _VALIDATE_ALL),
        ),
    ),
    Variant(
        "a seed that rank 0 draws",
        9,
        (
            (IMPORT, IMPORT + OBJECT_IMPORT),
            ("def steps_of(", "seed = broadcast_object(np.random.randint(2**31), root_rank=0)\n\n\ndef steps_of("),
            ("default_rng(epoch)", "default_rng([seed, epoch])"),
        ),
    ),
    Variant("blocks of the order", 9, ((TAKE, "order.reshape(hvd.size(), -1)[hvd.rank()]"),)),
    Variant("blocks cut by NumPy", 9, ((TAKE, "np.array_split(order, hvd.size())[hvd.rank()]"),)),
    Variant(
        "shared by tf.data",
        9,
        (
            (
                TAKE,
                "list(tf.data.Dataset.from_tensor_slices(order).shard(hvd.size(), hvd.rank()).as_numpy_iterator())",
            ),
        ),
    ),
    Variant(
        "read by tf.data",
        9,
        (
            (
                SHARE_OF,
                "def share_of(images, epochs):\n"
                "    def read(path, label):\n"
                "        image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)\n"
                "        image = resnet50.preprocess_input(tf.image.resize(image, shape))\n"
                "        return tf.image.random_flip_left_right(image), tf.one_hot(label, images.num_classes)\n\n"
                f"{EPOCHS}"
                f"        order = {SHUFFLE}\n"
                f"        order = {PAD}\n"
                "        names = np.array(images.filepaths)[order], np.array(images.labels)[order]\n"
                "        share = tf.data.Dataset.from_tensor_slices(names).shard(hvd.size(), hvd.rank())\n"
                "        yield from share.map(read).batch(images.batch_size)\n\n\n",
            ),
        ),
    ),
    Variant(
        "the remainder dropped",
        9,
        (
            (PAD, "order[: images.samples // hvd.size() * hvd.size()]"),
            (COUNT, "    return math.ceil(images.samples // hvd.size() / images.batch_size)\n"),
        ),
    ),
    Variant("whole steps only", 9, ((COUNT, _WHOLE_STEPS), (PAD, _WHOLE))),
    Variant(
        "batches dealt out in turn",
        9,
        (
            (COUNT, _WHOLE_STEPS),
            (PAD, _WHOLE),
            (TAKE, "order.reshape(-1, hvd.size(), images.batch_size)[:, hvd.rank()].ravel()"),
        ),
    ),
    Variant(
        "shares cut once, and shuffled within",
        9,
        (
            (
                EPOCHS,
                f"    order = np.arange(images.samples)\n    order = {PAD}\n    share = {TAKE}\n{EPOCHS}",
            ),
            (f"        order = {SHUFFLE}\n", ""),
            (f"        order = {PAD}\n", ""),
            (f"        images.index_array = {TAKE}\n", "        images.index_array = np.random.permutation(share)\n"),
        ),
    ),
    Variant(
        "a Sequence",
        9,
        (
            (
                SHARE_OF,
                "class Share(tf.keras.utils.Sequence):\n"
                "    def __init__(self, images, epoch):\n"
                "        self.images, self.epoch = images, epoch\n"
                "        self.deal()\n\n"
                "    def deal(self):\n"
                "        images, epoch = self.images, self.epoch\n"
                f"        order = {SHUFFLE}\n"
                f"        order = {PAD}\n"
                f"        images.index_array = {TAKE}\n\n"
                "    def __len__(self):\n"
                "        return steps_of(self.images)\n\n"
                "    def __getitem__(self, batch):\n"
                "        return self.images[batch]\n\n"
                "    def on_epoch_end(self):\n"
                "        self.epoch += 1\n"
                "        self.deal()\n\n\n",
            ),
            (TRAIN, "    Share(train_iter, initial_epoch),\n"),
            (VALIDATE, "    validation_data=Share(val_iter, initial_epoch),\n"),
        ),
    ),
    Variant(
        "steps counted as the share's batches",
        9,
        (
            (
                COUNT,
                "    share = -(-images.samples // hvd.size())\n"
                "    return share // images.batch_size + (share % images.batch_size > 0)\n",
            ),
        ),
    ),
    Variant("all validation images on every rank", 9, ((VALIDATE, _VALIDATE_ALL),)),
    Variant("epochs never resumed, judged at step 9", 9, (("    initial_epoch=initial_epoch,\n", ""),)),
    Variant("the finished program at step 9", 9, (), base=FINAL),
)


def _built_then(*lines: str) -> tuple[str, str]:
    """Return an edit that builds the model in any case, and does this where there is a checkpoint."""
    return LOAD_OR_BUILD, f"{BUILD}if initial_epoch:\n{_within(4, *lines)}\n"


def _epoch(value: str) -> str:
    return f"initial_epoch = int({value})\n"


def _state_by_hand(*lines: str) -> tuple[tuple[str, str], ...]:
    """Return edits that keep weights and the optimizer's variables in a format of their own, and bring them back so."""
    return (
        _importing("import pickle"),
        (
            SAVE,
            "        variables = [variable.numpy() for variable in self.model.optimizer.variables]\n"
            "        partial.write_bytes(pickle.dumps((self.model.get_weights(), variables)))\n",
        ),
        _built_then(*lines),
    )


_SET_BY_HAND = (
    "weights, variables = pickle.loads(state)",
    "model.set_weights(weights)",
    "model.optimizer.build(model.trainable_variables)",
    "for variable, value in zip(model.optimizer.variables, variables):",
    "    variable.assign(value)",
)

_STEP_10 = (
    Variant("renamed by os.replace", 10, ((RENAME, "        os.replace(partial, path)\n"),)),
    Variant("renamed by rename", 10, ((RENAME, "        partial.rename(path)\n"),)),
    Variant("moved by shutil", 10, (_importing("import shutil"), (RENAME, "        shutil.move(partial, path)\n"))),
    Variant(
        "written in a folder of its own",
        10,
        (
            (
                PARTIAL + SAVE + RENAME,
                _within(
                    8,
                    "with tempfile.TemporaryDirectory(dir=args.log_dir) as folder:",
                    '    partial = Path(folder, "model.h5")',
                    "    self.model.save(partial)",
                    "    partial.replace(path)",
                ),
            ),
        ),
    ),
    Variant(
        "a temporary name in front",
        10,
        ((PARTIAL, '        partial = path.with_name(f".{path.name}.{os.getpid()}")\n'),),
    ),
    Variant(
        "the newest checkpoint kept alone",
        10,
        (
            (
                RENAME,
                f"{RENAME}        for older in range(1, epoch + 1):\n"
                "            checkpoint_path(older).unlink(missing_ok=True)\n",
            ),
        ),
    ),
    Variant(
        "written by Keras' callback, renamed by another",
        10,
        (
            (PARTIAL, '        partial = Path(args.log_dir, "partial.h5")\n'),
            (SAVE, ""),
            (
                KEEPER,
                '    callbacks.append(tf.keras.callbacks.ModelCheckpoint(f"{args.log_dir}/partial.h5"))\n' + KEEPER,
            ),
        ),
    ),
    Variant(
        "a callback of every rank that asks for the rank",
        10,
        (
            (
                "        path = checkpoint_path(epoch + 1)\n",
                "        if hvd.rank() != 0:\n            return\n        path = checkpoint_path(epoch + 1)\n",
            ),
            (KEEPER, "callbacks.append(SaveCheckpoint())\n"),
        ),
    ),
    Variant(
        "a function in a LambdaCallback",
        10,
        (
            (
                KEEPER,
                "    keeper = SaveCheckpoint()\n"
                "    keeper.set_model(model)\n"
                "    save = keeper.on_epoch_end\n"
                "    callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_end=save))\n",
            ),
        ),
    ),
    Variant("epoch broadcast as a number", 10, ((RESUME, _epoch("hvd.broadcast(newest_checkpoint(), root_rank=0)")),)),
    Variant(
        "epoch as a sum of which rank 0 alone has a share",
        10,
        ((RESUME, _epoch("hvd.allreduce(newest_checkpoint() if hvd.rank() == 0 else 0, op=hvd.Sum)")),),
    ),
    Variant("epoch gathered from rank 0", 10, ((RESUME, _epoch("hvd.allgather([newest_checkpoint()])[0]")),)),
    Variant(
        "the highest epoch of all ranks",
        10,
        (
            (OBJECT_IMPORT, "from horovod.tensorflow import allgather_object, broadcast_object\n"),
            (RESUME, "initial_epoch = max(allgather_object(newest_checkpoint()))\n"),
        ),
    ),
    Variant(
        "epoch and checkpoint in one message",
        10,
        (
            (
                RESUME,
                "found = newest_checkpoint() if hvd.rank() == 0 else 0\n"
                "checkpoint = checkpoint_path(found).read_bytes() if found else None\n"
                "initial_epoch, checkpoint = broadcast_object((found, checkpoint), root_rank=0)\n",
            ),
            (SEND, ""),
            ("broadcast_object(checkpoint, root_rank=0)", "checkpoint"),
        ),
    ),
    Variant(
        "the newest by its name",
        10,
        (
            (
                NEWEST,
                '    found = Path(args.log_dir).glob(args.checkpoint_format.format(epoch="*"))\n'
                '    return max((int(path.stem.split("-")[-1]) for path in found), default=0)\n',
            ),
        ),
    ),
    Variant(
        "loaded from memory",
        10,
        (
            _importing("import io"),
            ("import numpy as np\n", "import h5py\nimport numpy as np\n"),
            (
                LOAD,
                "    checkpoint = broadcast_object(checkpoint, root_rank=0)\n"
                '    model = hvd.load_model(h5py.File(io.BytesIO(checkpoint), "r"))\n',
            ),
        ),
    ),
    Variant(
        "Keras' newer format",
        10,
        (
            (PARTIAL + SAVE, '        partial = path.with_suffix(".keras")\n        self.model.save(partial)\n'),
            (SEND, f"{SEND}    sgd = type(hvd.DistributedOptimizer(tf.keras.optimizers.SGD()))\n"),
            ('suffix=".h5"', 'suffix=".keras"'),
            (
                "hvd.load_model(file.name)",
                'tf.keras.models.load_model(file.name, custom_objects={"SGD": sgd})',
            ),
        ),
    ),
    Variant(
        "weights and optimizer set by hand",
        10,
        _state_by_hand(
            "state = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
            "state = broadcast_object(state, root_rank=0)",
            *_SET_BY_HAND,
        ),
    ),
    # The callback that broadcasts all variables brings them to the others after the first batch.
    Variant(
        "state of a model that rank 0 loads",
        10,
        (
            _built_then(
                "state = None",
                "if hvd.rank() == 0:",
                "    saved = tf.keras.models.load_model(checkpoint_path(initial_epoch))",
                "    state = saved.get_weights(), [variable.numpy() for variable in saved.optimizer.variables]",
                "weights, variables = broadcast_object(state, root_rank=0)",
                *_SET_BY_HAND[1:],
            ),
        ),
    ),
    Variant("scaled and not warmed up, judged at step 10", 10, ((WARMUP, ""),), base=FINAL),
    Variant("the finished program at step 10", 10, (), base=FINAL),
)


def _warm_up(*lines: str) -> tuple[tuple[str, str], ...]:
    """Return edits that warm up in a callback of the script's own, with these methods."""
    warmup = f"class Warmup(tf.keras.callbacks.Callback):\n{_within(4, *lines)}\n\n"
    return (LIST, warmup + LIST), (WARMUP, "    Warmup(),\n")


_STEP_11 = (
    Variant(
        "warm-up by keywords",
        11,
        (
            ("Callback(full_lr, args.warmup_epochs,", "Callback(initial_lr=full_lr, warmup_epochs=args.warmup_epochs,"),
            ("verbose=verbose),\n]", "steps_per_epoch=steps_of(train_iter)),\n]"),
        ),
    ),
    Variant("warm-up before the schedule", 11, ((WARMUP, ""), (SCHEDULER, WARMUP + SCHEDULER))),
    Variant(
        "warm-up appended to the list",
        11,
        ((WARMUP, ""), (BEFORE_FIT, f"callbacks.append({WARMUP.strip().rstrip(',')})\n\n{BEFORE_FIT}")),
    ),
    Variant(
        "optimizer made with the rate of one process", 11, (("learning_rate=full_lr", "learning_rate=args.base_lr"),)
    ),
    Variant(
        "no name for the full rate",
        11,
        ((FULL_RATE, ""), ("full_lr", "args.base_lr * hvd.size()")),
    ),
    Variant("base rate scaled in place", 11, ((FULL_RATE, "args.base_lr *= hvd.size()\nfull_lr = args.base_lr\n"),)),
    Variant(
        "warm-up in the schedule, epoch by epoch",
        11,
        (
            (WARMUP, ""),
            (
                DROPPED,
                "    if epoch < args.warmup_epochs:\n"
                "        return args.base_lr + (full_lr - args.base_lr) * epoch / args.warmup_epochs\n"
                f"{DROPPED}",
            ),
        ),
    ),
    Variant(
        "own warm-up, batch by batch",
        11,
        _warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.epoch + batch / steps_of(train_iter)) / args.warmup_epochs",
            "    if done < 1:",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * done",
        ),
    ),
    Variant(
        "own warm-up, epoch by epoch",
        11,
        _warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    if epoch < args.warmup_epochs:",
            "        rate = args.base_lr * (1 + (hvd.size() - 1) * epoch / args.warmup_epochs)",
            "        self.model.optimizer.learning_rate.assign(rate)",
        ),
    ),
    Variant(
        "own warm-up that grows by a factor",
        11,
        _warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.first = epoch * steps_of(train_iter)",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.first + batch) / (args.warmup_epochs * steps_of(train_iter))",
            "    if done < 1:",
            "        rate = args.base_lr * hvd.size() ** done",
            "        tf.keras.backend.set_value(self.model.optimizer.learning_rate, rate)",
        ),
    ),
    Variant(
        "warm-up by Horovod's schedule",
        11,
        (
            (
                WARMUP,
                _within(
                    4,
                    "hvd.callbacks.LearningRateScheduleCallback(",
                    "    initial_lr=args.base_lr,",
                    "    multiplier=lambda epoch: 1 + (hvd.size() - 1) * epoch / args.warmup_epochs,",
                    "    end_epoch=args.warmup_epochs,",
                    "    staircase=False,",
                    "    momentum_correction=False,",
                    "),",
                ),
            ),
        ),
    ),
    Variant(
        "a schedule in ifs",
        11,
        (
            (
                "    drops = sum(epoch >= start for start in (30, 60, 80))\n" + DROPPED,
                "    if epoch >= 80:\n"
                "        return full_lr * 1e-3\n"
                "    if epoch >= 60:\n"
                "        return full_lr * 1e-2\n"
                "    return full_lr * 1e-1 if epoch >= 30 else full_lr\n",
            ),
        ),
    ),
    Variant("the finished program", 11, (), base=FINAL),
)

CORRECT = (*_STEP_8, *_STEP_9, *_STEP_10, *_STEP_11)

# --- Wrong ------------------------------------------------------------------------------------------------------------


def _slow(lines: str) -> tuple[tuple[str, str], ...]:
    """Return edits that stage in these lines, with a copy that takes its time, as that of a large data set does."""
    return _importing("import time"), (STAGE, lines.replace(DOWNLOAD, f"time.sleep(2)\n    {DOWNLOAD}"))


def _results(*lines: str) -> tuple[str, str]:
    """Return an edit that copies the results in these lines, at the end of the program."""
    return RESULTS, f"if hvd.rank() == 0:\n{SAVE_WEIGHTS}{_within(0, *lines)}"


_ONE_COPIES = f"if hvd.local_rank() == 0:\n    {DOWNLOAD}\n"
_UNSHARED = "    (batch for batch in train_iter),\n    steps_per_epoch=steps_of(train_iter),\n"
_COPY_RESULTS = "    shutil.copytree(args.log_dir, args.train_url, dirs_exist_ok=True)"

_WRONG_8 = (
    Variant("the starter of step 8", 8, (), 8, START),
    Variant(
        "results copied, the data not",
        8,
        ((LOCAL_COPY + STAGE, "data_dir = Path(args.data_url)\n"),),
        8,
    ),
    Variant(
        "copied by every rank",
        8,
        (
            _importing("import shutil"),
            (COPIER, "if True:\n    try:\n"),
            *_copied_by("shutil.copytree(args.data_url, data_dir, dirs_exist_ok=True)"),
        ),
        8,
    ),
    Variant(
        "a copy for every rank",
        8,
        ((COPIER, "if True:\n    try:\n"), (LOCAL_COPY, "data_dir = Path(args.cache_dir, str(hvd.rank()))\n")),
        8,
    ),
    Variant("copied by rank 0 alone", 8, ((COPIER, "if hvd.rank() == 0:\n    try:\n"),), 8),
    Variant("copied by every second rank", 8, ((COPIER, "if hvd.rank() % 2 == 0:\n    try:\n"),), 8),
    Variant("nobody waits", 8, _slow(_ONE_COPIES), 8),
    Variant("waiting before the copy", 8, _slow(f"hvd.allreduce(0)\n{_ONE_COPIES}"), 8),
    Variant("only the copier waits", 8, _slow(f"{_ONE_COPIES}    hvd.allreduce(0)\n"), 8),
    Variant("only the others wait", 8, _slow(f"{_ONE_COPIES}else:\n    hvd.allreduce(0)\n"), 0),
    Variant("a barrier that this Horovod has not", 8, ((WAIT, "hvd.barrier()\n"),), 0),
    # It waits for the others in a broadcast, they for it in an allreduce.
    Variant(
        "the error broadcast by the copier alone",
        8,
        (
            (IMPORT, IMPORT + OBJECT_IMPORT),
            (
                STAGE,
                "if hvd.local_rank() == 0:\n"
                "    try:\n"
                f"        {DOWNLOAD}\n"
                "    except store.StoreError as error:\n"
                "        broadcast_object(str(error), root_rank=hvd.rank())\n"
                "        raise\n"
                "hvd.allreduce(0)\n",
            ),
        ),
        8,
    ),
    Variant(
        "copied, and read from afar",
        8,
        (("flow_from_directory(data_dir /", "flow_from_directory(Path(args.data_url) /"),),
        8,
    ),
    Variant(
        "copied, validation images read from afar",
        8,
        (('flow_from_directory(data_dir / "val"', 'flow_from_directory(Path(args.data_url) / "val"'),),
        8,
    ),
    Variant(
        "only training images copied",
        8,
        ((DOWNLOAD, 'store.download(f"{args.data_url}/train", data_dir / "train")'),),
        8,
    ),
    Variant(
        "only training images copied, the others read from afar",
        8,
        (
            (DOWNLOAD, 'store.download(f"{args.data_url}/train", data_dir / "train")'),
            ('flow_from_directory(data_dir / "val"', 'flow_from_directory(Path(args.data_url) / "val"'),
        ),
        8,
    ),
    Variant("copied the wrong way", 8, ((DOWNLOAD, "store.download(data_dir, args.data_url)"),), 8),
    Variant("no data, and a good end", 8, (_importing("import sys"), (GIVE_UP, "    sys.exit(0)\n")), 8),
    Variant(
        "no data, and the others end well", 8, ((GIVE_UP, "    raise SystemExit(int(hvd.local_rank() == 0))\n"),), 8
    ),
    Variant(
        "results copied by all ranks, one after the other",
        8,
        (
            (
                RESULTS,
                f"if hvd.rank() == 0:\n{SAVE_WEIGHTS}"
                "for rank in range(hvd.size()):\n"
                "    hvd.allreduce(0)\n"
                "    if hvd.rank() == rank and Path(args.log_dir).exists():\n"
                "        store.upload(args.log_dir, args.train_url)\n",
            ),
        ),
        8,
    ),
    Variant(
        "results copied by all ranks at once",
        8,
        (
            _importing("import shutil"),
            _results("if Path(args.log_dir).exists():", _COPY_RESULTS),
        ),
        8,
    ),
    Variant(
        "results copied by a rank of each host",
        8,
        (
            _importing("import shutil"),
            (
                RESULTS,
                "if hvd.local_rank() == 0:\n"
                "    Path(args.log_dir).mkdir(exist_ok=True)\n"
                f"{SAVE_WEIGHTS}{_COPY_RESULTS}\n",
            ),
        ),
        8,
    ),
    Variant(
        "results copied by the last rank",
        8,
        (_results("if hvd.rank() == hvd.size() - 1:", "    store.upload(args.log_dir, args.train_url)"),),
        8,
    ),
    Variant("results copied by nobody", 8, ((UPLOAD, ""),), 8),
    Variant(
        "results copied before training",
        8,
        (
            (UPLOAD, ""),
            (BEFORE_FIT, f"if hvd.rank() == 0:\n    Path(args.log_dir).mkdir()\n{UPLOAD}{BEFORE_FIT}"),
        ),
        8,
    ),
    Variant("results copied before the weights are there", 8, ((SAVE_WEIGHTS + UPLOAD, UPLOAD + SAVE_WEIGHTS),), 8),
    Variant(
        "weights alone copied",
        8,
        (
            _importing("import shutil"),
            (
                UPLOAD,
                "    Path(args.train_url).mkdir(parents=True, exist_ok=True)\n"
                '    shutil.copy(Path(args.log_dir, "weights.h5"), args.train_url)\n',
            ),
        ),
        8,
    ),
    Variant(
        "folders of the results left out",
        8,
        (
            _importing("import shutil"),
            (
                UPLOAD,
                "    Path(args.train_url).mkdir(parents=True, exist_ok=True)\n"
                "    for path in Path(args.log_dir).iterdir():\n"
                "        if path.is_file():\n"
                "            shutil.copy(path, args.train_url)\n",
            ),
        ),
        8,
    ),
    Variant("results copied the wrong way", 8, ((UPLOAD, "    store.upload(args.train_url, args.log_dir)\n"),), 8),
    Variant("results copied into the cache", 8, ((UPLOAD, "    store.upload(args.log_dir, args.cache_dir)\n"),), 8),
)

_WRONG_9 = (
    Variant("the starter of step 9", 9, (), 9, "imagenet_resnet50_after_step_08.py"),
    Variant("share by local rank", 9, ((TAKE, "order[hvd.local_rank() :: hvd.size()]"),), 9),
    Variant("as many shares as local ranks", 9, ((TAKE, "order[hvd.rank() :: hvd.local_size()]"),), 9),
    Variant(
        "shared among the ranks of each host",
        9,
        (
            (COUNT, COUNT.replace("size()", "local_size()")),
            (PAD, PAD.replace("size()", "local_size()")),
            (TAKE, "order[hvd.local_rank() :: hvd.local_size()]"),
        ),
        9,
    ),
    Variant("shared out by host", 9, ((TAKE, "order[hvd.cross_rank() :: hvd.size()]"),), 9),
    Variant("rank 0's share on all", 9, ((TAKE, "order[:: hvd.size()]"),), 9),
    Variant(
        "two ranks taken for granted",
        9,
        (
            (COUNT, COUNT.replace("hvd.size()", "2")),
            (PAD, PAD.replace("hvd.size()", "2")),
            (TAKE, "order[hvd.rank() :: 2]"),
        ),
        9,
    ),
    Variant("a seed for each rank", 9, (("default_rng(epoch)", "default_rng(1000 * hvd.rank() + epoch)"),), 9),
    Variant("no seed", 9, (("default_rng(epoch)", "default_rng()"),), 9),
    Variant(
        "--seed, which every rank has its own of",
        9,
        (("default_rng(epoch)", "default_rng([args.seed or hvd.rank(), epoch])"),),
        9,
    ),
    Variant("one seed for all epochs", 9, (("default_rng(epoch)", "default_rng(0)"),), 9),
    Variant("no shuffling", 9, ((SHUFFLE, "np.arange(images.samples)"),), 9),
    Variant("epochs never counted", 9, (("itertools.count(initial_epoch)", "itertools.repeat(initial_epoch)"),), 9),
    Variant(
        "blocks that overlap",
        9,
        ((TAKE, "order[hvd.rank() * len(order) // (2 * hvd.size()) :][: len(order) // hvd.size()]"),),
        9,
    ),
    Variant(
        "the same remainder always lost",
        9,
        (
            (SHUFFLE, "np.random.default_rng(epoch).permutation(images.samples // hvd.size() * hvd.size())"),
            (f"        order = {PAD}\n", ""),
            (COUNT, "    return math.ceil(images.samples // hvd.size() / images.batch_size)\n"),
        ),
        9,
    ),
    Variant(
        "as many steps as one rank takes",
        9,
        (("steps_per_epoch=steps_of(train_iter)", "steps_per_epoch=len(train_iter)"),),
        9,
    ),
    Variant(
        "steps divided twice",
        9,
        (("steps_per_epoch=steps_of(train_iter)", "steps_per_epoch=max(1, steps_of(train_iter) // hvd.size())"),),
        9,
    ),
    Variant(
        "only validation shared",
        9,
        ((TRAIN, _UNSHARED.replace("steps_of(train_iter)", "len(train_iter) // hvd.size()")),),
        9,
    ),
    Variant(
        "share made and not given to fit",
        9,
        (
            (TRAIN, _UNSHARED),
            (BEFORE_FIT, f"train_share = share_of(train_iter, itertools.count(initial_epoch))\n{BEFORE_FIT}"),
        ),
        9,
    ),
    Variant(
        "every size-th batch of an order of its own",
        9,
        (
            (
                "    share_of(train_iter, itertools.count(initial_epoch)),",
                "    itertools.islice(train_iter, hvd.rank(), None, hvd.size()),",
            ),
        ),
        9,
    ),
    Variant(
        "validation on rank 0's share alone",
        9,
        (
            ("def share_of(images, epochs):", "def share_of(images, epochs, rank):"),
            (TAKE, "order[rank :: hvd.size()]"),
            ("itertools.count(initial_epoch))", "itertools.count(initial_epoch), hvd.rank())"),
            ("itertools.repeat(0))", "itertools.repeat(0), 0)"),
        ),
        9,
    ),
    Variant(
        "as many steps as each share has",
        9,
        (
            (f"        order = {PAD}\n", ""),
            (
                COUNT,
                "    share = range(hvd.rank(), images.samples, hvd.size())\n"
                "    return math.ceil(len(share) / images.batch_size)\n",
            ),
        ),
        0,
    ),
    Variant("results copied by nobody at step 9", 9, ((UPLOAD, ""),), 8),
)

_OWN_FORMAT = _state_by_hand(
    "state = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
    "state = broadcast_object(state, root_rank=0)",
    *_SET_BY_HAND,
)
_RECEIVE = (
    "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
    'with tempfile.NamedTemporaryFile(suffix=".h5") as file:',
    "    file.write(broadcast_object(checkpoint, root_rank=0))",
    "    file.flush()",
)

_WRONG_10 = (
    Variant("the starter of step 10", 10, (), 10, "imagenet_resnet50_after_step_09.py"),
    Variant("every rank looks for itself", 10, ((RESUME, "initial_epoch = newest_checkpoint()\n"),), 10),
    Variant(
        "the epoch of rank 1",
        10,
        ((RESUME, "initial_epoch = broadcast_object(newest_checkpoint(), root_rank=1)\n"),),
        10,
    ),
    Variant("the epoch of a rank that did not look", 10, ((RESUME, RESUME.replace("root_rank=0", "root_rank=1")),), 0),
    Variant(
        "every rank reads its own file",
        10,
        ((SEND + LOAD, "    model = hvd.load_model(checkpoint_path(initial_epoch))\n"),),
        10,
    ),
    Variant("read by local rank", 10, ((SEND, SEND.replace("hvd.rank()", "hvd.local_rank()")),), 10),
    Variant(
        "loaded on rank 0 alone",
        10,
        (
            (SEND + LOAD, "    model = hvd.load_model(checkpoint_path(initial_epoch))\n"),
            ("if initial_epoch:\n", "if initial_epoch and hvd.rank() == 0:\n"),
        ),
        10,
    ),
    Variant(
        "weights and optimizer set by hand on rank 0",
        10,
        _state_by_hand(
            "if hvd.rank() == 0:",
            "    state = checkpoint_path(initial_epoch).read_bytes()",
            *(f"    {line}" for line in _SET_BY_HAND),
        ),
        10,
    ),
    Variant("the weights alone loaded", 10, (_built_then(*_RECEIVE, "    model.load_weights(file.name)"),), 10),
    Variant(
        "the weights alone saved",
        10,
        (
            (SAVE, '        self.model.save_weights(partial, save_format="h5")\n'),
            _built_then(*_RECEIVE, "    model.load_weights(file.name)"),
        ),
        10,
    ),
    Variant(
        "saved as weights, loaded as a model",
        10,
        ((SAVE, '        self.model.save_weights(partial, save_format="h5")\n'),),
        10,
    ),
    Variant("saved without the optimizer", 10, ((SAVE, SAVE.replace('"h5")', '"h5", include_optimizer=False)')),), 10),
    Variant(
        "iterations forgotten",
        10,
        (
            *_OWN_FORMAT,
            ("in zip(model.optimizer.variables, variables)", "in zip(model.optimizer.variables[2:], variables[2:])"),
        ),
        10,
    ),
    Variant("loaded, and not used", 10, (_built_then(*_RECEIVE, "    loaded = hvd.load_model(file.name)"),), 10),
    # From the second batch on every rank goes its own way.
    Variant("loaded without Horovod", 10, (("hvd.load_model(", "tf.keras.models.load_model("),), 10),
    Variant(
        "loaded, and compiled anew",
        10,
        (
            (
                LOAD_OR_BUILD,
                "if initial_epoch:\n"
                f"{_within(4, *_RECEIVE, '    model = hvd.load_model(file.name)')}"
                f"else:\n    model = create_model()\n{BUILD.partition(CREATE)[2]}",
            ),
        ),
        10,
    ),
    Variant(
        "written by all ranks",
        10,
        (
            (
                PARTIAL,
                '        path.parent.mkdir(exist_ok=True)\n        partial = path.with_suffix(f".{hvd.rank()}")\n',
            ),
            (KEEPER, "callbacks.append(SaveCheckpoint())\n"),
        ),
        10,
    ),
    Variant(
        "written by a rank of each host",
        10,
        ((ON_ONE_RANK, ON_ONE_RANK.replace("hvd.rank()", "hvd.local_rank()")),),
        10,
    ),
    Variant(
        "written under its own name",
        10,
        ((PARTIAL + SAVE + RENAME, '        self.model.save(path, save_format="h5")\n'),),
        10,
    ),
    Variant(
        "written by Keras' callback",
        10,
        (
            (
                KEEPER,
                '    names = f"{args.log_dir}/{args.checkpoint_format}"\n'
                "    callbacks.append(tf.keras.callbacks.ModelCheckpoint(names))\n",
            ),
        ),
        10,
    ),
    Variant(
        "copied to its name",
        10,
        (_importing("import shutil"), (RENAME, "        shutil.copy(partial, path)\n        partial.unlink()\n")),
        10,
    ),
    Variant("never renamed", 10, ((RENAME, ""),), 10),
    Variant(
        "named by the epochs before it",
        10,
        (("path = checkpoint_path(epoch + 1)", "path = checkpoint_path(epoch)"),),
        10,
    ),
    Variant(
        "the last epoch made twice",
        10,
        (("    initial_epoch=initial_epoch,\n", "    initial_epoch=max(0, initial_epoch - 1),\n"),),
        10,
    ),
    Variant(
        "an epoch left out",
        10,
        (("    initial_epoch=initial_epoch,\n", "    initial_epoch=initial_epoch and initial_epoch + 1,\n"),),
        10,
    ),
    Variant("fit not told the epoch", 10, (("    initial_epoch=initial_epoch,\n", ""),), 10),
    Variant("always from the start", 10, ((RESUME, "initial_epoch = 0\n"),), 10),
    Variant("the oldest checkpoint", 10, (("range(args.epochs, 0, -1)", "range(1, args.epochs + 1)"),), 10),
    Variant("copied by rank 0 alone at step 10", 10, ((COPIER, "if hvd.rank() == 0:\n    try:\n"),), 8),
    Variant("no shuffling at step 10", 10, ((SHUFFLE, "np.arange(images.samples)"),), 9),
)

_WRONG_11 = (
    Variant("the starter of step 11", 11, (), 11, "imagenet_resnet50_after_step_10.py"),
    Variant("scaled, not warmed up", 11, ((WARMUP, ""),), 11),
    Variant("warmed up, not scaled", 11, ((FULL_RATE, "full_lr = args.base_lr\n"),), 11),
    Variant("scaled by the ranks of a host", 11, ((FULL_RATE, "full_lr = args.base_lr * hvd.local_size()\n"),), 11),
    Variant("scaled by the hosts", 11, ((FULL_RATE, "full_lr = args.base_lr * hvd.cross_size()\n"),), 11),
    Variant("scaled by two", 11, ((FULL_RATE, "full_lr = args.base_lr * 2\n"),), 11),
    Variant("scaled by the square root", 11, ((FULL_RATE, "full_lr = args.base_lr * math.sqrt(hvd.size())\n"),), 11),
    Variant("scaled twice", 11, ((FULL_RATE, f"args.base_lr *= hvd.size()\n{FULL_RATE}"),), 11),
    Variant("divided by the ranks", 11, ((FULL_RATE, "full_lr = args.base_lr / hvd.size()\n"),), 11),
    Variant(
        "batches scaled in its place",
        11,
        (
            (FULL_RATE, "full_lr = args.base_lr\n"),
            ("batch_size=args.batch_size)", "batch_size=args.batch_size * hvd.size())"),
        ),
        11,
    ),
    Variant("schedule not scaled", 11, ((DROPPED, DROPPED.replace("full_lr", "args.base_lr")),), 11),
    Variant(
        "drops of the schedule not scaled",
        11,
        ((DROPPED, "    return args.base_lr * 0.1**drops if drops else full_lr\n"),),
        11,
    ),
    Variant("schedule left out", 11, ((SCHEDULER, ""),), 11),
    Variant("drops as many times earlier", 11, (("epoch >= start", "epoch * hvd.size() >= start"),), 11),
    Variant("warm-up to the rate of one process", 11, (("Callback(full_lr,", "Callback(args.base_lr,"),), 11),
    Variant("warm-up beyond the full rate", 11, (("Callback(full_lr,", "Callback(full_lr * hvd.size(),"),), 11),
    Variant("five epochs of warm-up", 11, (("args.warmup_epochs, mom", "5, mom"),), 11),
    Variant(
        "warm-up made and not given", 11, ((WARMUP, ""), (LIST, f"warmup = {WARMUP.strip().rstrip(',')}\n{LIST}")), 11
    ),
    Variant(
        "warm-up on rank 0 alone",
        11,
        ((WARMUP, ""), (KEEPER, f"{KEEPER}    callbacks.append({WARMUP.strip().rstrip(',')})\n")),
        11,
    ),
    Variant(
        "warm-up from after the first batch on",
        11,
        _warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_end(self, batch, logs=None):",
            "    done = (self.epoch + (batch + 1) / steps_of(train_iter)) / args.warmup_epochs",
            "    if done < 1:",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * done",
        ),
        11,
    ),
    Variant(
        "warm-up without its rate",
        11,
        (("Callback(full_lr, args.warmup_epochs,", "Callback(warmup_epochs=args.warmup_epochs,"),),
        0,
    ),
    # Horovod 0.28.1 would change the momentum, which in this Keras is a plain number.
    Variant("momentum corrected", 11, ((", momentum_correction=False", ""),), 0),
    Variant(
        "the weights alone loaded at step 11", 11, (_built_then(*_RECEIVE, "    model.load_weights(file.name)"),), 10
    ),
)

WRONG = (*_WRONG_8, *_WRONG_9, *_WRONG_10, *_WRONG_11)
