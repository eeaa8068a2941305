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
from tests.corpus.variant import right

_STEP_8 = (
    right(8, "failures counted by allgather", in_ci=True)(
        (WAIT, "failures = sum(hvd.allgather([failures]).numpy())\n")
    ),
    right(8, "each rank's word broadcast in turn")(
        (WAIT, "failures = sum(int(hvd.broadcast(failures, root_rank=root)) for root in range(hvd.size()))\n")
    ),
    right(8, "the worst of all ranks")(
        (IMPORT, IMPORT_BOTH), (WAIT, "failures = int(hvd_tf.allreduce(tf.constant(failures), op=hvd_tf.Max))\n")
    ),
    right(8, "the mean of all ranks")((WAIT, "failures = float(hvd.allreduce(float(failures)))\n")),
    right(8, "messages gathered as objects")(
        (IMPORT, f"{IMPORT}from horovod.tensorflow import allgather_object\n"),
        ("failures = 0\n", 'message = ""\n'),
        (CAUGHT, "except store.StoreError as error:\n        message = str(error)\n"),
        (
            WAIT + ANY + GIVE_UP,
            "messages = [told for told in allgather_object(message) if told]\n"
            'if messages:\n    raise SystemExit("; ".join(messages))\n',
        ),
    ),
    right(8, "two barriers")((GIVE_UP, f'{GIVE_UP}hvd.allreduce(0, name="all know")\n')),
    right(8, "the last local rank copies")(
        ("if hvd.local_rank() == 0:", "if hvd.local_rank() == hvd.local_size() - 1:")
    ),
    right(8, "the first rank of each host by division")(
        ("if hvd.local_rank() == 0:", "if hvd.rank() % hvd.local_size() == 0:")
    ),
    right(8, "copied by fsspec")(
        importing("import fsspec"),
        *copied_by(
            "files, root = fsspec.url_to_fs(args.data_url)", 'files.get(f"{root}/", f"{data_dir}/", recursive=True)'
        ),
    ),
    right(8, "training and validation images copied one after the other")(
        (
            within(8, DOWNLOAD),
            within(
                8,
                'for part in ("train", "val"):',
                '    store.download(f"{args.data_url}/{part}", data_dir / part, progress=verbose)',
            ),
        )
    ),
    right(8, "copied to a folder in the cache")((LOCAL_COPY, 'data_dir = Path(args.cache_dir, "images")\n')),
    right(8, "staged by a function")(
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
        )
    ),
    right(8, "the copier raises its own error after the barrier")(
        ("failures = 0\n", "problem = None\n"),
        (CAUGHT, "except store.StoreError as error:\n        problem = error\n"),
        (
            WAIT + ANY + GIVE_UP,
            "if int(hvd.allreduce(int(problem is not None), op=hvd.Sum)):\n"
            '    raise problem or RuntimeError("another rank could not copy the data")\n',
        ),
    ),
    right(8, "ended by sys.exit")(
        importing("import sys"), (GIVE_UP, '    sys.exit(f"{failures} hosts have no data")\n')
    ),
    right(8, "results copied when training ends")(
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
    right(8, "an error in copying the results told")(
        (
            UPLOAD,
            within(
                4,
                "try:",
                "    store.upload(args.log_dir, args.train_url)",
                "except store.StoreError as error:",
                '    raise SystemExit(f"The results are still in {args.log_dir}: {error}")',
            ),
        )
    ),
    right(8, "results copied by fsspec")(
        importing("import fsspec"),
        (
            UPLOAD,
            "    files, root = fsspec.url_to_fs(args.train_url)\n"
            '    files.put(f"{args.log_dir}/", f"{root}/", recursive=True)\n',
        ),
    ),
    right(8, "results copied while the others wait")(
        (RESULTS, f'{RESULTS}hvd.allreduce(0, name="results are there")\n')
    ),
    right(8, "oldest checkpoint, judged at step 8")(("range(args.epochs, 0, -1)", "range(1, args.epochs + 1)")),
    right(8, "the error told by logging")(
        importing("import logging"), ("        print(error)\n", "        logging.error(error)\n")
    ),
    right(8, "copied by TensorFlow")(
        *copied_by(
            "if not tf.io.gfile.isdir(args.data_url):",
            "    raise FileNotFoundError(args.data_url)",
            "for folder, _, names in tf.io.gfile.walk(args.data_url):",
            '    target = folder.replace(args.data_url.rstrip("/"), args.cache_dir)',
            "    tf.io.gfile.makedirs(target)",
            "    for name in names:",
            '        tf.io.gfile.copy(f"{folder}/{name}", f"{target}/{name}", overwrite=True)',
        )
    ),
    right(8, "a throw-away folder removed at exit")(
        importing("import atexit", "import shutil", "import tempfile"),
        (LOCAL_COPY, f"{LOCAL_COPY}atexit.register(shutil.rmtree, tempfile.mkdtemp(), ignore_errors=True)\n"),
    ),
    right(8, "the finished program at step 8", base=FINAL)(),
)

# Only steps for which every rank has a full batch.
_WHOLE_STEPS = "    return images.samples // (images.batch_size * hvd.size())\n"
_WHOLE = "order[: steps_of(images) * images.batch_size * hvd.size()]"

_STEP_9 = (
    right(9, "shuffled by the standard library")(
        importing("import random"),
        (SHUFFLE, "list(range(images.samples))\n        random.Random(epoch).shuffle(order)"),
        (PAD, "order + order[: -len(order) % hvd.size()]"),
    ),
    right(9, "shuffled in place")(
        (SHUFFLE, "np.arange(images.samples)\n        np.random.RandomState(epoch).shuffle(order)")
    ),
    right(9, "shuffled by TensorFlow")(
        (SHUFFLE, "tf.random.experimental.stateless_shuffle(tf.range(images.samples), (0, epoch)).numpy()")
    ),
    right(9, "a seed by a formula")(("default_rng(epoch)", "default_rng(1000 + 7 * epoch)")),
    right(9, "--seed, where it is given")(("default_rng(epoch)", "default_rng([args.seed or 0, epoch])")),
    right(9, "a seed that rank 0 draws")(
        (IMPORT, IMPORT + OBJECT_IMPORT),
        ("def steps_of(", "seed = broadcast_object(np.random.randint(2**31), root_rank=0)\n\n\ndef steps_of("),
        ("default_rng(epoch)", "default_rng([seed, epoch])"),
    ),
    right(9, "blocks of the order")((TAKE, "order.reshape(hvd.size(), -1)[hvd.rank()]")),
    right(9, "blocks cut by NumPy")((TAKE, "np.array_split(order, hvd.size())[hvd.rank()]")),
    right(9, "shared by tf.data")(
        (TAKE, "list(tf.data.Dataset.from_tensor_slices(order).shard(hvd.size(), hvd.rank()).as_numpy_iterator())")
    ),
    right(9, "read by tf.data")(
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
        )
    ),
    right(9, "changed by a function of NumPy in tf.data")(
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
        )
    ),
    right(9, "the remainder dropped")(
        (PAD, "order[: images.samples // hvd.size() * hvd.size()]"),
        (COUNT, "    return math.ceil(images.samples // hvd.size() / images.batch_size)\n"),
    ),
    right(9, "whole steps only")((COUNT, _WHOLE_STEPS), (PAD, _WHOLE)),
    right(9, "batches dealt out in turn")(
        (COUNT, _WHOLE_STEPS),
        (PAD, _WHOLE),
        (TAKE, "order.reshape(-1, hvd.size(), images.batch_size)[:, hvd.rank()].ravel()"),
    ),
    right(9, "a Sequence")(
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
    right(9, "steps counted as the share's batches")(
        (
            COUNT,
            "    share = -(-images.samples // hvd.size())\n"
            "    return share // images.batch_size + (share % images.batch_size > 0)\n",
        )
    ),
    right(9, "epochs never resumed, judged at step 9")(("    initial_epoch=initial_epoch,\n", "")),
    right(9, "shares of whole batches")((PAD, "np.resize(order, steps_of(images) * images.batch_size * hvd.size())")),
    right(9, "epochs that end with the training")(
        ("itertools.count(initial_epoch)", "range(initial_epoch, args.epochs)")
    ),
    right(9, "NumPy's own generator set back")(
        (
            f"        order = {SHUFFLE}\n",
            "        before = np.random.get_state()\n"
            "        np.random.seed(epoch)\n"
            "        order = np.random.permutation(images.samples)\n"
            "        np.random.set_state(before)\n",
        )
    ),
    right(9, "the hash of numbers")(("default_rng(epoch)", "default_rng(hash((7, epoch)) % 2**32)")),
    right(9, "a seed from a digest")(
        importing("import hashlib", "import re"),
        (
            "default_rng(epoch)",
            'default_rng(int(re.sub("[a-f]", "", hashlib.sha256(f"epoch {epoch}".encode()).hexdigest())))',
        ),
    ),
    right(9, "the finished program at step 9", base=FINAL)(),
)


def _epoch(value: str) -> str:
    return f"initial_epoch = int({value})\n"


_STEP_10 = (
    right(10, "renamed by os.replace")((RENAME, "        os.replace(partial, path)\n")),
    right(10, "renamed by rename")((RENAME, "        partial.rename(path)\n")),
    right(10, "renamed by TensorFlow")((RENAME, "        tf.io.gfile.rename(partial, path, overwrite=True)\n")),
    right(10, "a temporary file of the operating system's")(
        (
            PARTIAL + SAVE + RENAME,
            within(
                8,
                "handle, partial = tempfile.mkstemp(dir=args.log_dir)",
                "os.close(handle)",
                'self.model.save(partial, save_format="h5")',
                "os.replace(partial, path)",
            ),
        )
    ),
    right(10, "written through a descriptor, and to the disk")(
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
    right(10, "written to a temporary file by its number")(
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
    right(10, "found by a pattern, and compared with its digest")(
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
    right(10, "saved in a temporary folder elsewhere, then moved")(
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
    right(10, "a throw-away folder that atexit removes")(
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
    right(10, "checkpoints looked for one after the other")(
        (
            NEWEST,
            "    epoch = 0\n    while checkpoint_path(epoch + 1).exists():\n        epoch += 1\n    return epoch\n",
        )
    ),
    right(10, "the epoch kept in a file next to the checkpoint")(
        importing("import json"),
        (RENAME, f'{RENAME}        Path(args.log_dir, "newest.json").write_text(json.dumps(epoch + 1))\n'),
        (
            NEWEST,
            '    newest = Path(args.log_dir, "newest.json")\n'
            "    return json.loads(newest.read_text()) if newest.exists() else 0\n",
        ),
    ),
    right(10, "moved by shutil")(importing("import shutil"), (RENAME, "        shutil.move(partial, path)\n")),
    right(10, "written in a folder of its own")(
        (
            PARTIAL + SAVE + RENAME,
            within(
                8,
                "with tempfile.TemporaryDirectory(dir=args.log_dir) as folder:",
                '    partial = Path(folder, "model.h5")',
                "    self.model.save(partial)",
                "    partial.replace(path)",
            ),
        )
    ),
    right(10, "a temporary name in front")(
        (PARTIAL, '        partial = path.with_name(f".{path.name}.{os.getpid()}")\n')
    ),
    right(10, "the newest checkpoint kept alone")(
        (
            RENAME,
            f"{RENAME}        for older in range(1, epoch + 1):\n"
            "            checkpoint_path(older).unlink(missing_ok=True)\n",
        )
    ),
    right(10, "written by Keras' callback, renamed by another")(
        (PARTIAL, '        partial = Path(args.log_dir, "partial.h5")\n'),
        (SAVE, ""),
        (KEEPER, '    callbacks.append(tf.keras.callbacks.ModelCheckpoint(f"{args.log_dir}/partial.h5"))\n' + KEEPER),
    ),
    right(10, "a callback of every rank that asks for the rank")(
        (
            "        path = checkpoint_path(epoch + 1)\n",
            "        if hvd.rank() != 0:\n            return\n        path = checkpoint_path(epoch + 1)\n",
        ),
        (KEEPER, "callbacks.append(SaveCheckpoint())\n"),
    ),
    right(10, "a function in a LambdaCallback")(
        (
            KEEPER,
            "    keeper = SaveCheckpoint()\n"
            "    keeper.set_model(model)\n"
            "    save = keeper.on_epoch_end\n"
            "    callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_end=save))\n",
        )
    ),
    right(10, "epoch broadcast as a number")((RESUME, _epoch("hvd.broadcast(newest_checkpoint(), root_rank=0)"))),
    right(10, "epoch as a sum of which rank 0 alone has a share")(
        (RESUME, _epoch("hvd.allreduce(newest_checkpoint() if hvd.rank() == 0 else 0, op=hvd.Sum)"))
    ),
    right(10, "epoch gathered from rank 0")((RESUME, _epoch("hvd.allgather([newest_checkpoint()])[0]"))),
    right(10, "epoch and checkpoint in one message")(
        (
            RESUME,
            "found = newest_checkpoint() if hvd.rank() == 0 else 0\n"
            "checkpoint = checkpoint_path(found).read_bytes() if found else None\n"
            "initial_epoch, checkpoint = broadcast_object((found, checkpoint), root_rank=0)\n",
        ),
        (SEND, ""),
        ("broadcast_object(checkpoint, root_rank=0)", "checkpoint"),
    ),
    right(10, "an unfinished checkpoint in a folder of its own")(
        (
            PARTIAL,
            '        partial = path.parent / ".unfinished" / path.name\n        partial.parent.mkdir(exist_ok=True)\n',
        ),
        (RENAME, "        partial.replace(path)\n        partial.parent.rmdir()\n"),
    ),
    right(10, "the newest by its name")(
        (
            NEWEST,
            '    found = Path(args.log_dir).glob(args.checkpoint_format.format(epoch="*"))\n'
            '    return max((int(path.stem.split("-")[-1]) for path in found), default=0)\n',
        )
    ),
    right(10, "loaded from memory")(
        importing("import io"),
        ("import numpy as np\n", "import h5py\nimport numpy as np\n"),
        (
            LOAD,
            "    checkpoint = broadcast_object(checkpoint, root_rank=0)\n"
            '    model = hvd.load_model(h5py.File(io.BytesIO(checkpoint), "r"))\n',
        ),
    ),
    right(10, "Keras' newer format")(
        (PARTIAL + SAVE, '        partial = path.with_suffix(".keras")\n        self.model.save(partial)\n'),
        (SEND, f"{SEND}    sgd = type(hvd.DistributedOptimizer(tf.keras.optimizers.SGD()))\n"),
        ('suffix=".h5"', 'suffix=".keras"'),
        ("hvd.load_model(file.name)", 'tf.keras.models.load_model(file.name, custom_objects={"SGD": sgd})'),
    ),
    right(10, "weights and optimizer set by hand")(
        *state_by_hand(
            "state = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
            "state = broadcast_object(state, root_rank=0)",
            *SET_BY_HAND,
        )
    ),
    # The callback that broadcasts all variables sends them to the other ranks after the first batch.
    right(10, "state of a model that rank 0 loads")(
        built_then(
            "state = None",
            "if hvd.rank() == 0:",
            "    saved = tf.keras.models.load_model(checkpoint_path(initial_epoch))",
            "    state = saved.get_weights(), [variable.numpy() for variable in saved.optimizer.variables]",
            "weights, variables = broadcast_object(state, root_rank=0)",
            *SET_BY_HAND[1:],
        )
    ),
    right(10, "scaled and not warmed up, judged at step 10", base=FINAL)((WARMUP, "")),
    right(10, "the finished program at step 10", base=FINAL)(),
)


_STEP_11 = (
    right(11, "warm-up by keywords")(
        ("Callback(full_lr, args.warmup_epochs,", "Callback(initial_lr=full_lr, warmup_epochs=args.warmup_epochs,"),
        ("verbose=verbose),\n]", "steps_per_epoch=steps_of(train_iter)),\n]"),
    ),
    right(11, "warm-up before the schedule")((WARMUP, ""), (SCHEDULER, WARMUP + SCHEDULER)),
    right(11, "warm-up appended to the list")(
        (WARMUP, ""), (BEFORE_FIT, f"callbacks.append({WARMUP.strip().rstrip(',')})\n\n{BEFORE_FIT}")
    ),
    right(11, "optimizer made with the rate of one process")(("learning_rate=full_lr", "learning_rate=args.base_lr")),
    right(11, "no name for the full rate")((FULL_RATE, ""), ("full_lr", "args.base_lr * hvd.size()")),
    right(11, "base rate scaled in place")((FULL_RATE, "args.base_lr *= hvd.size()\nfull_lr = args.base_lr\n")),
    right(11, "own warm-up, batch by batch")(
        *warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.epoch + batch / steps_of(train_iter)) / args.warmup_epochs",
            "    if done < 1:",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * done",
        )
    ),
    right(11, "own warm-up along a cosine")(
        *warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.epoch + (batch + 1) / steps_of(train_iter)) / args.warmup_epochs",
            "    if done <= 1:",
            "        share = (1 - math.cos(math.pi * done)) / 2",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * share",
        )
    ),
    right(11, "Horovod's schedule in place of Keras'")(
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
        )
    ),
    right(11, "a schedule that continues from the rate before")(
        ("def lr_schedule(epoch):", "def lr_schedule(epoch, rate):"),
        ("    drops = sum(epoch >= start for start in (30, 60, 80))\n", ""),
        (DROPPED, "    return rate * 0.1 if epoch in (30, 60, 80) else rate\n"),
        (SCHEDULER, f"{SCHEDULER}"),
    ),
    right(11, "the schedule in a callback of its own")(
        (
            LIST,
            "class Schedule(tf.keras.callbacks.Callback):\n"
            "    def on_epoch_begin(self, epoch, logs=None):\n"
            "        self.model.optimizer.learning_rate.assign(lr_schedule(epoch))\n\n\n"
            f"{LIST}",
        ),
        (SCHEDULER, "    Schedule(),\n"),
    ),
    right(11, "own warm-up that grows by a factor")(
        *warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.first = epoch * steps_of(train_iter)",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.first + batch) / (args.warmup_epochs * steps_of(train_iter))",
            "    if done < 1:",
            "        rate = args.base_lr * hvd.size() ** done",
            "        tf.keras.backend.set_value(self.model.optimizer.learning_rate, rate)",
        )
    ),
    right(11, "warm-up by Horovod's schedule")(
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
        )
    ),
    right(11, "a schedule in ifs")(
        (
            "    drops = sum(epoch >= start for start in (30, 60, 80))\n" + DROPPED,
            "    if epoch >= 80:\n"
            "        return full_lr * 1e-3\n"
            "    if epoch >= 60:\n"
            "        return full_lr * 1e-2\n"
            "    return full_lr * 1e-1 if epoch >= 30 else full_lr\n",
        )
    ),
    right(11, "the finished program", base=FINAL)(),
)

CORRECT = (*_STEP_8, *_STEP_9, *_STEP_10, *_STEP_11)
