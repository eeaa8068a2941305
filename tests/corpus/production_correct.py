"""Correct scripts of the second part, steps 8 to 11. Each one passes."""

from tests.corpus.horovod_passages import IMPORT, IMPORT_BOTH
from tests.corpus.production_passages import (
    ANY,
    BEFORE_FIT,
    CAUGHT,
    COUNT,
    DOWNLOAD,
    DROPPED,
    EPOCHS,
    FINAL,
    FULL_RATE,
    GIVE_UP,
    KEEPER,
    LIST,
    LOAD,
    LOCAL_COPY,
    NEWEST,
    OBJECT_IMPORT,
    PAD,
    PARTIAL,
    RENAME,
    RESULTS,
    RESUME,
    SAVE,
    SCHEDULER,
    SEND,
    SET_BY_HAND,
    SHARE_OF,
    SHUFFLE,
    STAGE,
    TAKE,
    TRAIN,
    UPLOAD,
    VALIDATE,
    WAIT,
    WARMUP,
    built_then,
    copied_by,
    importing,
    state_by_hand,
    warm_up,
    within,
)
from tests.corpus.variant import Variant

_STEP_8 = (
    Variant(
        "failures counted by allgather", 8, ((WAIT, "failures = sum(hvd.allgather([failures]).numpy())\n"),), in_ci=True
    ),
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
    Variant("two barriers", 8, ((GIVE_UP, f'{GIVE_UP}hvd.allreduce(0, name="all know")\n'),)),
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
            importing("import fsspec"),
            *copied_by(
                "files, root = fsspec.url_to_fs(args.data_url)",
                'files.get(f"{root}/", f"{data_dir}/", recursive=True)',
            ),
        ),
    ),
    Variant(
        "training and validation images copied one after the other",
        8,
        (
            (
                within(8, DOWNLOAD),
                within(
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
        (importing("import sys"), (GIVE_UP, '    sys.exit(f"{failures} hosts have no data")\n')),
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
                within(
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
        "results copied by fsspec",
        8,
        (
            importing("import fsspec"),
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
    Variant(
        "the error told by logging",
        8,
        (importing("import logging"), ("        print(error)\n", "        logging.error(error)\n")),
    ),
    Variant(
        "copied by TensorFlow",
        8,
        copied_by(
            "if not tf.io.gfile.isdir(args.data_url):",
            "    raise FileNotFoundError(args.data_url)",
            "for folder, _, names in tf.io.gfile.walk(args.data_url):",
            '    target = folder.replace(args.data_url.rstrip("/"), args.cache_dir)',
            "    tf.io.gfile.makedirs(target)",
            "    for name in names:",
            '        tf.io.gfile.copy(f"{folder}/{name}", f"{target}/{name}", overwrite=True)',
        ),
    ),
    Variant(
        "a throw-away folder removed at exit",
        8,
        (
            importing("import atexit", "import shutil", "import tempfile"),
            (LOCAL_COPY, f"{LOCAL_COPY}atexit.register(shutil.rmtree, tempfile.mkdtemp(), ignore_errors=True)\n"),
        ),
    ),
    Variant("the finished program at step 8", 8, (), base=FINAL),
)

# Only steps for which every rank has a full batch.
_WHOLE_STEPS = "    return images.samples // (images.batch_size * hvd.size())\n"
_WHOLE = "order[: steps_of(images) * images.batch_size * hvd.size()]"

_STEP_9 = (
    Variant(
        "shuffled by the standard library",
        9,
        (
            importing("import random"),
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
        "changed by a function of NumPy in tf.data",
        9,
        (
            (
                SHARE_OF,
                "def share_of(images, epochs):\n"
                "    change = images.image_data_generator\n\n"
                "    def changed(pixels):\n"
                "        return change.standardize(change.random_transform(pixels)).astype(np.float32)\n\n"
                "    def read(path, label):\n"
                "        image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)\n"
                "        image = tf.numpy_function(changed, [tf.image.resize(image, shape)], tf.float32)\n"
                "        return tf.ensure_shape(image, (*shape, 3)), tf.one_hot(label, images.num_classes)\n\n"
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
    Variant("epochs never resumed, judged at step 9", 9, (("    initial_epoch=initial_epoch,\n", ""),)),
    Variant(
        "shares of whole batches",
        9,
        ((PAD, "np.resize(order, steps_of(images) * images.batch_size * hvd.size())"),),
    ),
    Variant(
        "epochs that end with the training",
        9,
        (("itertools.count(initial_epoch)", "range(initial_epoch, args.epochs)"),),
    ),
    Variant(
        "NumPy's own generator set back",
        9,
        (
            (
                f"        order = {SHUFFLE}\n",
                "        before = np.random.get_state()\n"
                "        np.random.seed(epoch)\n"
                "        order = np.random.permutation(images.samples)\n"
                "        np.random.set_state(before)\n",
            ),
        ),
    ),
    Variant("the hash of numbers", 9, (("default_rng(epoch)", "default_rng(hash((7, epoch)) % 2**32)"),)),
    Variant(
        "a seed from a digest",
        9,
        (
            importing("import hashlib", "import re"),
            (
                "default_rng(epoch)",
                'default_rng(int(re.sub("[a-f]", "", hashlib.sha256(f"epoch {epoch}".encode()).hexdigest())))',
            ),
        ),
    ),
    Variant("the finished program at step 9", 9, (), base=FINAL),
)


def _epoch(value: str) -> str:
    return f"initial_epoch = int({value})\n"


_STEP_10 = (
    Variant("renamed by os.replace", 10, ((RENAME, "        os.replace(partial, path)\n"),)),
    Variant("renamed by rename", 10, ((RENAME, "        partial.rename(path)\n"),)),
    Variant("renamed by TensorFlow", 10, ((RENAME, "        tf.io.gfile.rename(partial, path, overwrite=True)\n"),)),
    Variant(
        "a temporary file of the operating system's",
        10,
        (
            (
                PARTIAL + SAVE + RENAME,
                within(
                    8,
                    "handle, partial = tempfile.mkstemp(dir=args.log_dir)",
                    "os.close(handle)",
                    'self.model.save(partial, save_format="h5")',
                    "os.replace(partial, path)",
                ),
            ),
        ),
    ),
    Variant(
        "written through a descriptor, and to the disk",
        10,
        (
            importing("import io"),
            ("import numpy as np\n", "import h5py\nimport numpy as np\n"),
            (
                SAVE,
                within(
                    8,
                    "memory = io.BytesIO()",
                    'with h5py.File(memory, "w") as file:',
                    "    self.model.save(file)",
                    "handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)",
                    'with os.fdopen(handle, "wb") as file:',
                    "    file.write(memory.getvalue())",
                    "    file.flush()",
                    "    os.fsync(file.fileno())",
                ),
            ),
        ),
    ),
    Variant(
        "written to a temporary file by its number",
        10,
        (
            importing("import io"),
            ("import numpy as np\n", "import h5py\nimport numpy as np\n"),
            (
                PARTIAL + SAVE + RENAME,
                within(
                    8,
                    "memory = io.BytesIO()",
                    'with h5py.File(memory, "w") as file:',
                    "    self.model.save(file)",
                    "handle, partial = tempfile.mkstemp(dir=args.log_dir)",
                    "left = memory.getvalue()",
                    "while left:",
                    "    left = left[os.write(handle, left) :]",
                    "os.fsync(handle)",
                    "os.close(handle)",
                    "os.replace(partial, path)",
                ),
            ),
        ),
    ),
    Variant(
        "found by a pattern, and compared with its digest",
        10,
        (
            importing("import hashlib", "import re"),
            (
                RENAME,
                within(
                    8,
                    "digest = hashlib.sha256(partial.read_bytes()).hexdigest()",
                    'Path(args.log_dir, f"digest-{epoch + 1}").write_text(digest)',
                    "partial.replace(path)",
                ),
            ),
            (
                NEWEST,
                within(
                    4,
                    r'pattern = re.compile(r"checkpoint-(\d+)\.h5")',
                    'found = [pattern.fullmatch(path.name) for path in Path(args.log_dir).glob("checkpoint-*")]',
                    "return max((int(each[1]) for each in found if each), default=0)",
                ),
            ),
            (
                SEND,
                SEND
                + within(
                    4,
                    'digest = Path(args.log_dir, f"digest-{initial_epoch}")',
                    "if hvd.rank() == 0 and digest.exists():",
                    "    if hashlib.sha256(checkpoint).hexdigest() != digest.read_text():",
                    '        raise SystemExit(f"The checkpoint of epoch {initial_epoch} is damaged.")',
                ),
            ),
        ),
    ),
    Variant(
        "saved in a temporary folder elsewhere, then moved",
        10,
        (
            importing("import shutil"),
            (
                PARTIAL + SAVE + RENAME,
                within(
                    8,
                    "with tempfile.TemporaryDirectory() as folder:",
                    '    self.model.save(f"{folder}/model.h5")',
                    '    shutil.move(f"{folder}/model.h5", path)',
                ),
            ),
        ),
    ),
    Variant(
        "a throw-away folder that atexit removes",
        10,
        (
            importing("import atexit", "import shutil"),
            (
                SEND + LOAD,
                within(
                    4,
                    "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
                    "folder = tempfile.mkdtemp()",
                    "atexit.register(shutil.rmtree, folder, ignore_errors=True)",
                    'received = Path(folder, "model.h5")',
                    "received.write_bytes(broadcast_object(checkpoint, root_rank=0))",
                    "model = hvd.load_model(received)",
                ),
            ),
        ),
    ),
    Variant(
        "checkpoints looked for one after the other",
        10,
        (
            (
                NEWEST,
                "    epoch = 0\n    while checkpoint_path(epoch + 1).exists():\n        epoch += 1\n    return epoch\n",
            ),
        ),
    ),
    Variant(
        "the epoch kept in a file next to the checkpoint",
        10,
        (
            importing("import json"),
            (RENAME, f'{RENAME}        Path(args.log_dir, "newest.json").write_text(json.dumps(epoch + 1))\n'),
            (
                NEWEST,
                '    newest = Path(args.log_dir, "newest.json")\n'
                "    return json.loads(newest.read_text()) if newest.exists() else 0\n",
            ),
        ),
    ),
    Variant("moved by shutil", 10, (importing("import shutil"), (RENAME, "        shutil.move(partial, path)\n"))),
    Variant(
        "written in a folder of its own",
        10,
        (
            (
                PARTIAL + SAVE + RENAME,
                within(
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
        "an unfinished checkpoint in a folder of its own",
        10,
        (
            (
                PARTIAL,
                '        partial = path.parent / ".unfinished" / path.name\n'
                "        partial.parent.mkdir(exist_ok=True)\n",
            ),
            (RENAME, "        partial.replace(path)\n        partial.parent.rmdir()\n"),
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
            importing("import io"),
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
        state_by_hand(
            "state = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
            "state = broadcast_object(state, root_rank=0)",
            *SET_BY_HAND,
        ),
    ),
    # The callback that broadcasts all variables sends them to the other ranks after the first batch.
    Variant(
        "state of a model that rank 0 loads",
        10,
        (
            built_then(
                "state = None",
                "if hvd.rank() == 0:",
                "    saved = tf.keras.models.load_model(checkpoint_path(initial_epoch))",
                "    state = saved.get_weights(), [variable.numpy() for variable in saved.optimizer.variables]",
                "weights, variables = broadcast_object(state, root_rank=0)",
                *SET_BY_HAND[1:],
            ),
        ),
    ),
    Variant("scaled and not warmed up, judged at step 10", 10, ((WARMUP, ""),), base=FINAL),
    Variant("the finished program at step 10", 10, (), base=FINAL),
)


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
        "own warm-up, batch by batch",
        11,
        warm_up(
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
        "own warm-up along a cosine",
        11,
        warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.epoch + (batch + 1) / steps_of(train_iter)) / args.warmup_epochs",
            "    if done <= 1:",
            "        share = (1 - math.cos(math.pi * done)) / 2",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * share",
        ),
    ),
    Variant(
        "Horovod's schedule in place of Keras'",
        11,
        (
            (
                SCHEDULER,
                within(
                    4,
                    "hvd.callbacks.LearningRateScheduleCallback(",
                    "    initial_lr=full_lr,",
                    "    multiplier=lambda epoch: 0.1 ** sum(epoch >= start for start in (30, 60, 80)),",
                    "    start_epoch=args.warmup_epochs,",
                    "    momentum_correction=False,",
                    "),",
                ),
            ),
        ),
    ),
    Variant(
        "a schedule that continues from the rate before",
        11,
        (
            ("def lr_schedule(epoch):", "def lr_schedule(epoch, rate):"),
            ("    drops = sum(epoch >= start for start in (30, 60, 80))\n", ""),
            (DROPPED, "    return rate * 0.1 if epoch in (30, 60, 80) else rate\n"),
            (SCHEDULER, f"{SCHEDULER}"),
        ),
    ),
    Variant(
        "the schedule in a callback of its own",
        11,
        (
            (
                LIST,
                "class Schedule(tf.keras.callbacks.Callback):\n"
                "    def on_epoch_begin(self, epoch, logs=None):\n"
                "        self.model.optimizer.learning_rate.assign(lr_schedule(epoch))\n\n\n"
                f"{LIST}",
            ),
            (SCHEDULER, "    Schedule(),\n"),
        ),
    ),
    Variant(
        "own warm-up that grows by a factor",
        11,
        warm_up(
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
                within(
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
