"""Wrong scripts of the second part, steps 8 to 11: each has one mistake that learners make.

A script that fails or hangs in its first run, with its data in place, does not run (fails=0), whatever the mistake.
A script that finds no data on its host, since no rank has copied them yet, fails step 8. A mistake that shows only when
the script is started again fails step 10; one that shows only when there is nothing to copy fails step 8.
"""

from tests.corpus.horovod_passages import IMPORT
from tests.corpus.production_passages import (
    ANY,
    BEFORE_FIT,
    BUILD,
    CAUGHT,
    CHECKPOINT_PATH,
    COPIER,
    COUNT,
    CREATE,
    DOCUMENTED,
    DOWNLOAD,
    DROPPED,
    EPOCHS,
    FINAL,
    FULL_RATE,
    GIVE_UP,
    KEEPER,
    LIST,
    LOAD,
    LOAD_OR_BUILD,
    LOCAL_COPY,
    NEWEST,
    OBJECT_IMPORT,
    ON_ONE_RANK,
    PAD,
    PARTIAL,
    PATH,
    RENAME,
    RESULTS,
    RESUME,
    SAVE,
    SAVE_WEIGHTS,
    SCHEDULER,
    SEND,
    SET_BY_HAND,
    SHUFFLE,
    STAGE,
    START,
    TAKE,
    TRAIN,
    UPLOAD,
    VALIDATE,
    WAIT,
    WARMUP,
    built_then,
    copied_by,
    datasets,
    importing,
    shuffled_files,
    state_by_hand,
    warm_up,
    within,
)
from tests.corpus.variant import wrong


def _slow(lines: str) -> tuple[tuple[str, str], ...]:
    """Return edits that copy the data with these lines, and slow the copy down, as a large data set would."""
    return importing("import time"), (STAGE, lines.replace(DOWNLOAD, f"time.sleep(2)\n    {DOWNLOAD}"))


def _results(*lines: str) -> tuple[str, str]:
    """Return an edit that copies the results with these lines, at the end of the program."""
    return RESULTS, f"if hvd.rank() == 0:\n{SAVE_WEIGHTS}{within(0, *lines)}"


_ONE_COPIES = f"if hvd.local_rank() == 0:\n    {DOWNLOAD}\n"
_UNSHARED = "    (batch for batch in train_iter),\n    steps_per_epoch=steps_of(train_iter),\n"
_VALIDATE_ALL = "    validation_data=(batch for batch in val_iter),\n    validation_steps=len(val_iter),\n"
_VALIDATE_AS_BEFORE = _VALIDATE_ALL.replace("len(val_iter)", "3 * len(val_iter) // hvd.size()")
_COPY_RESULTS = "    shutil.copytree(args.log_dir, args.train_url, dirs_exist_ok=True)"

_WRONG_8 = (
    wrong(8, "the starter of step 8", base=START)(),
    wrong(8, "results copied, the data not")((LOCAL_COPY + STAGE, "data_dir = Path(args.data_url)\n")),
    wrong(8, "copied by every rank")(
        importing("import shutil"),
        (COPIER, "if True:\n    try:\n"),
        *copied_by("shutil.copytree(args.data_url, data_dir, dirs_exist_ok=True)"),
    ),
    wrong(8, "a copy for every rank")(
        (COPIER, "if True:\n    try:\n"), (LOCAL_COPY, "data_dir = Path(args.cache_dir, str(hvd.rank()))\n")
    ),
    wrong(8, "copied by rank 0 alone")((COPIER, "if hvd.rank() == 0:\n    try:\n")),
    wrong(8, "copied by every second rank")((COPIER, "if hvd.rank() % 2 == 0:\n    try:\n")),
    wrong(8, "no rank waits")(*_slow(_ONE_COPIES)),
    wrong(8, "waiting before the copy")(*_slow(f"hvd.allreduce(0)\n{_ONE_COPIES}")),
    wrong(8, "only the copier waits")(*_slow(f"{_ONE_COPIES}    hvd.allreduce(0)\n")),
    wrong(8, "only the others wait", fails=0)(*_slow(f"{_ONE_COPIES}else:\n    hvd.allreduce(0)\n")),
    wrong(8, "a barrier that this Horovod has not", fails=0)((WAIT, "hvd.barrier()\n")),
    # The rank that copies waits in a broadcast, the other ranks wait in an allreduce.
    wrong(8, "the error broadcast by the copier alone")(
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
    wrong(8, "copied, and read from afar")(
        ("flow_from_directory(data_dir /", "flow_from_directory(Path(args.data_url) /")
    ),
    wrong(8, "copied, validation images read from afar")(
        ('flow_from_directory(data_dir / "val"', 'flow_from_directory(Path(args.data_url) / "val"')
    ),
    wrong(8, "only training images copied")((DOWNLOAD, 'store.download(f"{args.data_url}/train", data_dir / "train")')),
    wrong(8, "only training images copied, the others read from afar")(
        (DOWNLOAD, 'store.download(f"{args.data_url}/train", data_dir / "train")'),
        ('flow_from_directory(data_dir / "val"', 'flow_from_directory(Path(args.data_url) / "val"'),
    ),
    wrong(8, "copied the wrong way")((DOWNLOAD, "store.download(data_dir, args.data_url)")),
    wrong(8, "no data, and a good end")(importing("import sys"), (GIVE_UP, "    sys.exit(0)\n")),
    wrong(8, "no data, and the others end well")((GIVE_UP, "    raise SystemExit(int(hvd.local_rank() == 0))\n")),
    wrong(8, "results copied by all ranks, one after the other")(
        (
            RESULTS,
            f"if hvd.rank() == 0:\n{SAVE_WEIGHTS}"
            "for rank in range(hvd.size()):\n"
            "    hvd.allreduce(0)\n"
            "    if hvd.rank() == rank and Path(args.log_dir).exists():\n"
            "        store.upload(args.log_dir, args.train_url)\n",
        )
    ),
    wrong(8, "results copied by all ranks at once")(
        importing("import shutil"), _results("if Path(args.log_dir).exists():", _COPY_RESULTS)
    ),
    wrong(8, "results copied by a rank of each host")(
        importing("import shutil"),
        (
            RESULTS,
            f"if hvd.local_rank() == 0:\n    Path(args.log_dir).mkdir(exist_ok=True)\n{SAVE_WEIGHTS}{_COPY_RESULTS}\n",
        ),
    ),
    wrong(8, "results copied by the last rank")(
        _results("if hvd.rank() == hvd.size() - 1:", "    store.upload(args.log_dir, args.train_url)")
    ),
    wrong(8, "results not copied")((UPLOAD, "")),
    wrong(8, "results copied before training", in_ci=True)(
        (UPLOAD, ""), (BEFORE_FIT, f"if hvd.rank() == 0:\n    Path(args.log_dir).mkdir()\n{UPLOAD}{BEFORE_FIT}")
    ),
    wrong(8, "results copied before the weights are there")((SAVE_WEIGHTS + UPLOAD, UPLOAD + SAVE_WEIGHTS)),
    wrong(8, "weights alone copied")(
        importing("import shutil"),
        (
            UPLOAD,
            "    Path(args.train_url).mkdir(parents=True, exist_ok=True)\n"
            '    shutil.copy(Path(args.log_dir, "weights.h5"), args.train_url)\n',
        ),
    ),
    wrong(8, "folders of the results left out")(
        importing("import shutil"),
        (
            UPLOAD,
            "    Path(args.train_url).mkdir(parents=True, exist_ok=True)\n"
            "    for path in Path(args.log_dir).iterdir():\n"
            "        if path.is_file():\n"
            "            shutil.copy(path, args.train_url)\n",
        ),
    ),
    wrong(8, "results copied the wrong way")((UPLOAD, "    store.upload(args.train_url, args.log_dir)\n")),
    wrong(8, "results copied into the cache")((UPLOAD, "    store.upload(args.log_dir, args.cache_dir)\n")),
    wrong(8, "copied by shutil", check="any_store")(
        importing("import shutil"), *copied_by("shutil.copytree(args.data_url, data_dir, dirs_exist_ok=True)")
    ),
    wrong(8, "copied file by file", check="any_store")(
        *copied_by(
            "if not Path(args.data_url).is_dir():",
            '    raise FileNotFoundError(f"{args.data_url} is no folder")',
            'for path in Path(args.data_url).rglob("*.*"):',
            "    target = data_dir / path.relative_to(args.data_url)",
            "    target.parent.mkdir(parents=True, exist_ok=True)",
            "    target.write_bytes(path.read_bytes())",
        )
    ),
    wrong(8, "copied by the operating system's walk", check="any_store")(
        importing("import shutil"),
        *copied_by(
            "if not os.path.isdir(args.data_url):",
            "    raise OSError(args.data_url)",
            "for folder, _, names in os.walk(args.data_url):",
            "    target = os.path.join(args.cache_dir, os.path.relpath(folder, args.data_url))",
            "    os.makedirs(target, exist_ok=True)",
            "    for name in names:",
            "        shutil.copy(os.path.join(folder, name), target)",
        ),
    ),
    wrong(8, "the copier's error never caught", check="all_end")(
        (STAGE, f"if hvd.local_rank() == 0:\n    {DOWNLOAD}\nhvd.allreduce(0)\n")
    ),
    wrong(8, "results copied by shutil", check="any_store")(
        importing("import shutil"), (UPLOAD, "    shutil.copytree(args.log_dir, args.train_url, dirs_exist_ok=True)\n")
    ),
    # --- One of two hosts cannot reach the store ---
    wrong(8, "only the rank whose copy fails ends", check="all_end")(
        (CAUGHT, "except store.StoreError as error:\n        raise SystemExit(str(error))\n")
    ),
    wrong(8, "the mean of the failures cut to a whole number", check="all_end")(
        (WAIT, "failures = int(hvd.allreduce(tf.constant(failures)))\n")
    ),
    wrong(8, "waiting for the folder to appear", check="all_end")(
        importing("import time"),
        (CAUGHT, "except store.StoreError as error:\n        raise SystemExit(str(error))\n"),
        (WAIT + ANY + GIVE_UP, "while not data_dir.exists():\n    time.sleep(0.1)\n"),
    ),
    wrong(8, "the folder of rank 0 awaited on every host", check="staged")(
        importing("import time"),
        (COPIER, "if hvd.rank() == 0:\n    try:\n"),
        (WAIT + ANY + GIVE_UP, "while not data_dir.exists():\n    time.sleep(0.1)\n"),
    ),
    wrong(8, "every host looks for itself", check="all_end")(
        (WAIT + ANY, "hvd.allreduce(0)\nif not data_dir.exists():\n")
    ),
    wrong(8, "the failure known on its host alone", check="all_end")(
        (WAIT, f"{WAIT}failures = failures and int(not data_dir.exists())\n")
    ),
    wrong(8, "the failure never printed", check="error_printed")(("        print(error)\n", "")),
    wrong(8, "ended without a line", check="all_end")((GIVE_UP, "    raise SystemExit(1)\n")),
    wrong(8, "copied to another folder", check="reads_copy")((LOCAL_COPY, 'data_dir = Path("elsewhere")\n')),
    wrong(8, "the store emptied at the end", check="data_stay")(
        importing("import shutil"), (UPLOAD, f"{UPLOAD}    shutil.rmtree(args.data_url, ignore_errors=True)\n")
    ),
    # An error of the model's is no matter of where results are.
    wrong(8, "a class too many", fails=0)(("layers.Dense(args.classes,", "layers.Dense(args.classes + 1,")),
)

_WRONG_9 = (
    wrong(9, "the starter of step 9", base="imagenet_resnet50_after_step_08.py")(),
    wrong(9, "NumPy's own generator seeded with the epoch", check="own_generator")(
        (f"order = {SHUFFLE}", "np.random.seed(epoch)\n        order = np.random.permutation(images.samples)")
    ),
    wrong(9, "one seed for the images of all ranks", check="own_generator")(
        ("model.fit(\n", "np.random.seed(1)\nmodel.fit(\n")
    ),
    wrong(9, "share by local rank")((TAKE, "order[hvd.local_rank() :: hvd.size()]")),
    wrong(9, "as many shares as local ranks")((TAKE, "order[hvd.rank() :: hvd.local_size()]")),
    wrong(9, "shared among the ranks of each host")(
        (COUNT, COUNT.replace("size()", "local_size()")),
        (PAD, PAD.replace("size()", "local_size()")),
        (TAKE, "order[hvd.local_rank() :: hvd.local_size()]"),
    ),
    wrong(9, "shared out by host")((TAKE, "order[hvd.cross_rank() :: hvd.size()]")),
    wrong(9, "rank 0's share on all")((TAKE, "order[:: hvd.size()]")),
    wrong(9, "two ranks assumed")(
        (COUNT, COUNT.replace("hvd.size()", "2")),
        (PAD, PAD.replace("hvd.size()", "2")),
        (TAKE, "order[hvd.rank() :: 2]"),
    ),
    wrong(9, "a seed for each rank")(("default_rng(epoch)", "default_rng(1000 * hvd.rank() + epoch)")),
    wrong(9, "no seed")(("default_rng(epoch)", "default_rng()")),
    wrong(9, "--seed, and the rank where there is none")(
        ("default_rng(epoch)", "default_rng([args.seed or hvd.rank(), epoch])")
    ),
    wrong(9, "one seed for all epochs")(("default_rng(epoch)", "default_rng(0)")),
    wrong(9, "no shuffling")((SHUFFLE, "np.arange(images.samples)")),
    wrong(9, "epochs never counted")(("itertools.count(initial_epoch)", "itertools.repeat(initial_epoch)")),
    wrong(9, "blocks that overlap")(
        (TAKE, "order[hvd.rank() * len(order) // (2 * hvd.size()) :][: len(order) // hvd.size()]")
    ),
    wrong(9, "the same remainder always lost")(
        (SHUFFLE, "np.random.default_rng(epoch).permutation(images.samples // hvd.size() * hvd.size())"),
        (f"        order = {PAD}\n", ""),
        (COUNT, "    return math.ceil(images.samples // hvd.size() / images.batch_size)\n"),
    ),
    wrong(9, "as many steps as one rank takes")(
        ("steps_per_epoch=steps_of(train_iter)", "steps_per_epoch=len(train_iter)")
    ),
    wrong(9, "steps divided twice")(
        ("steps_per_epoch=steps_of(train_iter)", "steps_per_epoch=max(1, steps_of(train_iter) // hvd.size())")
    ),
    wrong(9, "only validation shared")(
        (TRAIN, _UNSHARED.replace("steps_of(train_iter)", "len(train_iter) // hvd.size()"))
    ),
    wrong(9, "share made and not given to fit")(
        (TRAIN, _UNSHARED),
        (BEFORE_FIT, f"train_share = share_of(train_iter, itertools.count(initial_epoch))\n{BEFORE_FIT}"),
    ),
    wrong(9, "every size-th batch of an order of its own")(
        (
            "    share_of(train_iter, itertools.count(initial_epoch)),",
            "    itertools.islice(train_iter, hvd.rank(), None, hvd.size()),",
        )
    ),
    wrong(9, "validation on rank 0's share alone")(
        ("def share_of(images, epochs):", "def share_of(images, epochs, rank):"),
        (TAKE, "order[rank :: hvd.size()]"),
        ("itertools.count(initial_epoch))", "itertools.count(initial_epoch), hvd.rank())"),
        ("itertools.repeat(0))", "itertools.repeat(0), 0)"),
    ),
    wrong(9, "as many steps as each share has", fails=0)(
        (f"        order = {PAD}\n", ""),
        (
            COUNT,
            "    share = range(hvd.rank(), images.samples, hvd.size())\n"
            "    return math.ceil(len(share) / images.batch_size)\n",
        ),
    ),
    wrong(9, "one generator for all epochs", check="resumed_shares")(
        (EPOCHS, f"    numbers = np.random.default_rng(42)\n{EPOCHS}"),
        ("np.random.default_rng(epoch)", "numbers"),
        (VALIDATE, _VALIDATE_ALL),
    ),
    wrong(9, "shares cut once, and shuffled within", check="new_shares")(
        (EPOCHS, f"    order = np.arange(images.samples)\n    order = {PAD}\n    share = {TAKE}\n{EPOCHS}"),
        (f"        order = {SHUFFLE}\n", ""),
        (f"        order = {PAD}\n", ""),
        (f"        images.index_array = {TAKE}\n", "        images.index_array = np.random.permutation(share)\n"),
    ),
    wrong(9, "all validation images on every rank", check="validation_shares")((VALIDATE, _VALIDATE_ALL)),
    wrong(9, "the hash of a text", check="shares")(
        ("default_rng(epoch)", 'default_rng(hash(f"epoch {epoch}") % 2**32)')
    ),
    wrong(9, "epochs counted from 0", check="resumed_shares")(("itertools.count(initial_epoch)", "itertools.count()")),
    wrong(9, "two orders in alternation", check="resumed_shares")(("default_rng(epoch)", "default_rng(epoch % 2)")),
    wrong(9, "validation left as it was", check="validation_shares")((VALIDATE, _VALIDATE_AS_BEFORE)),
    wrong(9, "three passes over validation shares", check="validation_shares")(
        ("validation_steps=steps_of(val_iter)", "validation_steps=3 * steps_of(val_iter)")
    ),
    wrong(9, "another order for each validation", check="validation_shares")(
        ("itertools.repeat(0)", "itertools.count()")
    ),
    wrong(9, "shares that are not made even", check="share_steps")((f"        order = {PAD}\n", "")),
    wrong(9, "steps of whole batches alone", check="share_steps")((COUNT, COUNT.replace("ceil(m", "floor(m"))),
    wrong(9, "validation on training images")(("share_of(val_iter,", "share_of(train_iter,")),
    wrong(9, "shares for two ranks", check="share_steps")((TAKE, "order[hvd.rank() :: 2]")),
    wrong(9, "shares that the ranks take in turn", check="new_shares")(
        ("default_rng(epoch)", "default_rng(0)"), (TAKE, "order[(hvd.rank() + epoch) % hvd.size() :: hvd.size()]")
    ),
    wrong(9, "one order for several epochs", check="new_shares")(
        (PAD, "np.resize(order, images.samples * hvd.size() * hvd.size())")
    ),
    wrong(9, "as many steps of validation as of training", check="validation_shares")(
        ("validation_steps=steps_of(val_iter)", "validation_steps=steps_of(train_iter)")
    ),
    wrong(9, "shuffled by a data set, with a seed per rank, before shard", check="shares", base=FINAL)(
        importing("import functools"),
        *datasets(
            shuffled_files("epoch * hvd.size() + hvd.rank() + 1", "tf.random.set_seed(7)\n"),
            'steps_of("train", args.batch_size)',
        ),
    ),
    # With --seed, each rank has a global seed of its own. Dataset.shuffle then draws another order on each.
    wrong(9, "shuffled by a data set, with the epoch as the only seed", check="shares", base=FINAL)(
        importing("import functools"), *datasets(shuffled_files("epoch + 1"), 'steps_of("train", args.batch_size)')
    ),
    wrong(9, "results not copied at step 9", fails=8)((UPLOAD, "")),
)

_OWN_FORMAT = state_by_hand(
    "state = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
    "state = broadcast_object(state, root_rank=0)",
    *SET_BY_HAND,
)
_RECEIVE = (
    "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
    'with tempfile.NamedTemporaryFile(suffix=".h5") as file:',
    "    file.write(broadcast_object(checkpoint, root_rank=0))",
    "    file.flush()",
)

_WRONG_10 = (
    wrong(10, "the starter of step 10", base="imagenet_resnet50_after_step_09.py")(),
    wrong(10, "every rank looks for itself")((RESUME, "initial_epoch = newest_checkpoint()\n")),
    wrong(10, "the epoch of rank 1")((RESUME, "initial_epoch = broadcast_object(newest_checkpoint(), root_rank=1)\n")),
    wrong(10, "the epoch of a rank that did not look", fails=0)((RESUME, RESUME.replace("root_rank=0", "root_rank=1"))),
    wrong(10, "every rank reads its own file")(
        (SEND + LOAD, "    model = hvd.load_model(checkpoint_path(initial_epoch))\n")
    ),
    wrong(10, "read by local rank")((SEND, SEND.replace("hvd.rank()", "hvd.local_rank()"))),
    wrong(10, "a file of that name on the rank's own host")(
        (
            LOAD,
            "    content = broadcast_object(checkpoint, root_rank=0)\n"
            "    path = checkpoint_path(initial_epoch)\n"
            "    if not path.exists():\n"
            "        path.parent.mkdir(exist_ok=True)\n"
            "        path.write_bytes(content)\n"
            "    model = hvd.load_model(path)\n",
        )
    ),
    wrong(10, "loaded on rank 0 alone")(
        (SEND + LOAD, "    model = hvd.load_model(checkpoint_path(initial_epoch))\n"),
        ("if initial_epoch:\n", "if initial_epoch and hvd.rank() == 0:\n"),
    ),
    wrong(10, "weights and optimizer set by hand on rank 0")(
        *state_by_hand(
            "if hvd.rank() == 0:",
            "    state = checkpoint_path(initial_epoch).read_bytes()",
            *(f"    {line}" for line in SET_BY_HAND),
        )
    ),
    wrong(10, "the weights alone loaded")(built_then(*_RECEIVE, "    model.load_weights(file.name)")),
    wrong(10, "the weights alone saved")(
        (SAVE, '        self.model.save_weights(partial, save_format="h5")\n'),
        built_then(*_RECEIVE, "    model.load_weights(file.name)"),
    ),
    wrong(10, "saved as weights, loaded as a model")(
        (SAVE, '        self.model.save_weights(partial, save_format="h5")\n')
    ),
    wrong(10, "saved without the optimizer")((SAVE, SAVE.replace('"h5")', '"h5", include_optimizer=False)'))),
    wrong(10, "iterations forgotten")(
        *_OWN_FORMAT,
        ("in zip(model.optimizer.variables, variables)", "in zip(model.optimizer.variables[2:], variables[2:])"),
    ),
    wrong(10, "loaded, and not used")(built_then(*_RECEIVE, "    loaded = hvd.load_model(file.name)")),
    # Without the wrapped optimizer, the replicas diverge from the second batch on.
    wrong(10, "loaded without Horovod")(("hvd.load_model(", "tf.keras.models.load_model(")),
    wrong(10, "loaded, and compiled anew")(
        (
            LOAD_OR_BUILD,
            "if initial_epoch:\n"
            f"{within(4, *_RECEIVE, '    model = hvd.load_model(file.name)')}"
            f"else:\n    model = create_model()\n{BUILD.partition(CREATE)[2]}",
        )
    ),
    wrong(10, "written by all ranks")(
        (PARTIAL, '        path.parent.mkdir(exist_ok=True)\n        partial = path.with_suffix(f".{hvd.rank()}")\n'),
        (KEEPER, "callbacks.append(SaveCheckpoint())\n"),
    ),
    wrong(10, "written by a rank of each host")((ON_ONE_RANK, ON_ONE_RANK.replace("hvd.rank()", "hvd.local_rank()"))),
    wrong(10, "written under its own name")(
        (PARTIAL + SAVE + RENAME, '        self.model.save(path, save_format="h5")\n')
    ),
    wrong(10, "written by Keras' callback", in_ci=True)(
        (
            KEEPER,
            '    names = f"{args.log_dir}/{args.checkpoint_format}"\n'
            "    callbacks.append(tf.keras.callbacks.ModelCheckpoint(names))\n",
        )
    ),
    wrong(10, "copied to its name")(
        importing("import shutil"), (RENAME, "        shutil.copy(partial, path)\n        partial.unlink()\n")
    ),
    wrong(10, "whatever --checkpoint-format says", check="saved_each_epoch")(
        (CHECKPOINT_PATH, '    return Path(args.log_dir, f"checkpoint-{epoch}.h5")\n')
    ),
    wrong(10, "never renamed")((RENAME, "")),
    wrong(10, "named by the epochs before it")(("path = checkpoint_path(epoch + 1)", "path = checkpoint_path(epoch)")),
    wrong(10, "the last epoch made twice")(
        ("    initial_epoch=initial_epoch,\n", "    initial_epoch=max(0, initial_epoch - 1),\n")
    ),
    wrong(10, "an epoch left out")(
        ("    initial_epoch=initial_epoch,\n", "    initial_epoch=initial_epoch and initial_epoch + 1,\n")
    ),
    wrong(10, "fit not told the epoch")(("    initial_epoch=initial_epoch,\n", "")),
    wrong(10, "as many epochs as are left", check="goes_on")(
        ("    epochs=args.epochs,\n", "    epochs=args.epochs - initial_epoch,\n")
    ),
    wrong(10, "always from the start")((RESUME, "initial_epoch = 0\n")),
    wrong(10, "the oldest checkpoint")(("range(args.epochs, 0, -1)", "range(1, args.epochs + 1)")),
    wrong(10, "saved at the end of training alone", check="saved_each_epoch")(
        (
            "    def on_epoch_end(self, epoch, logs=None):\n",
            "    def on_train_end(self, logs=None):\n        epoch = args.epochs - 1\n",
        ),
        (DOCUMENTED, ""),
    ),
    wrong(10, "saved after every second epoch", check="saved_each_epoch")(
        (PATH, f"        if epoch % 2 == 0:\n            return\n{PATH}")
    ),
    wrong(10, "saved where validation is better than before", check="saved_each_epoch")(
        (
            PATH,
            '        if logs["val_loss"] >= getattr(self, "best", math.inf):\n            return\n'
            f'        self.best = logs["val_loss"]\n{PATH}',
        )
    ),
    wrong(10, "the newest by the time of its file", check="goes_on")(
        (
            NEWEST,
            '    found = list(Path(args.log_dir).glob("checkpoint-*.h5"))\n'
            "    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)\n"
            '    return int(newest.stem.split("-")[-1]) if newest else 0\n',
        )
    ),
    wrong(10, "the newest by its name's order", check="goes_on")(
        (
            NEWEST,
            '    found = sorted(Path(args.log_dir).glob("checkpoint-*.h5"))\n'
            '    return int(found[-1].stem.split("-")[-1]) if found else 0\n',
        )
    ),
    wrong(10, "as many epochs as there are files", check="loaded_everywhere")(
        (NEWEST, '    return len(list(Path(args.log_dir).glob("checkpoint-*.h5")))\n')
    ),
    wrong(10, "the highest epoch of all ranks")(
        (OBJECT_IMPORT, "from horovod.tensorflow import allgather_object, broadcast_object\n"),
        (RESUME, "initial_epoch = max(allgather_object(newest_checkpoint()))\n"),
    ),
    wrong(10, "copied to its name by TensorFlow", check="renamed")(
        (RENAME, "        tf.io.gfile.copy(str(partial), str(path), overwrite=True)\n")
    ),
    wrong(10, "written to its name by os.open", check="renamed")(
        (
            RENAME,
            "        whole = os.open(path, os.O_WRONLY | os.O_CREAT)\n"
            "        os.write(whole, partial.read_bytes())\n"
            "        os.close(whole)\n",
        )
    ),
    wrong(10, "written by all ranks, under one name", check="one_writer")(
        (PARTIAL, f"        path.parent.mkdir(exist_ok=True)\n{PARTIAL}"),
        (KEEPER, "callbacks.append(SaveCheckpoint())\n"),
    ),
    wrong(10, "written by Keras' callback on all ranks")(
        (
            KEEPER,
            'names = f"{args.log_dir}/{args.checkpoint_format}"\n'
            "callbacks.append(tf.keras.callbacks.ModelCheckpoint(names))\n",
        )
    ),
    wrong(10, "images counted from the first epoch again", fails=9, check="resumed_shares")(
        ("itertools.count(initial_epoch)", "itertools.count()")
    ),
    wrong(10, "copied by rank 0 alone at step 10", fails=8)((COPIER, "if hvd.rank() == 0:\n    try:\n")),
    wrong(10, "no shuffling at step 10", fails=9)((SHUFFLE, "np.arange(images.samples)")),
)

_WRONG_11 = (
    wrong(11, "the starter of step 11", base="imagenet_resnet50_after_step_10.py")(),
    wrong(11, "scaled, not warmed up")((WARMUP, "")),
    wrong(11, "warmed up, not scaled")((FULL_RATE, "full_lr = args.base_lr\n")),
    wrong(10, "read on every rank")((SEND, "    checkpoint = checkpoint_path(initial_epoch).read_bytes()\n")),
    wrong(10, "loaded on the first rank of each host")(
        (
            "        model = hvd.load_model(file.name)\n",
            "        if hvd.local_rank() == 0:\n            model = hvd.load_model(file.name)\n",
        )
    ),
    wrong(11, "scaled by the ranks of a host")((FULL_RATE, "full_lr = args.base_lr * hvd.local_size()\n")),
    wrong(11, "scaled by the hosts")((FULL_RATE, "full_lr = args.base_lr * hvd.cross_size()\n")),
    wrong(11, "the warm-up's arguments swapped, so that weights become NaN", fails=0)(
        ("Callback(full_lr, args.warmup_epochs,", "Callback(args.warmup_epochs, full_lr,")
    ),
    wrong(11, "scaled by two")((FULL_RATE, "full_lr = args.base_lr * 2\n")),
    wrong(11, "scaled by the square root")((FULL_RATE, "full_lr = args.base_lr * math.sqrt(hvd.size())\n")),
    wrong(11, "scaled twice")((FULL_RATE, f"args.base_lr *= hvd.size()\n{FULL_RATE}")),
    wrong(11, "divided by the ranks")((FULL_RATE, "full_lr = args.base_lr / hvd.size()\n")),
    wrong(11, "batches scaled in its place")(
        (FULL_RATE, "full_lr = args.base_lr\n"),
        ("batch_size=args.batch_size)", "batch_size=args.batch_size * hvd.size())"),
    ),
    wrong(11, "schedule not scaled")((DROPPED, DROPPED.replace("full_lr", "args.base_lr"))),
    wrong(11, "drops of the schedule not scaled")(
        (DROPPED, "    return args.base_lr * 0.1**drops if drops else full_lr\n")
    ),
    wrong(11, "schedule left out")((SCHEDULER, "")),
    wrong(11, "drops as many times earlier")(("epoch >= start", "epoch * hvd.size() >= start")),
    wrong(11, "warm-up to the rate of one process")(("Callback(full_lr,", "Callback(args.base_lr,")),
    wrong(11, "warm-up beyond the full rate")(("Callback(full_lr,", "Callback(full_lr * hvd.size(),")),
    wrong(11, "five epochs of warm-up")(("args.warmup_epochs, mom", "5, mom")),
    wrong(11, "warm-up made and not given")((WARMUP, ""), (LIST, f"warmup = {WARMUP.strip().rstrip(',')}\n{LIST}")),
    wrong(11, "warm-up on rank 0 alone")(
        (WARMUP, ""), (KEEPER, f"{KEEPER}    callbacks.append({WARMUP.strip().rstrip(',')})\n")
    ),
    wrong(11, "warm-up from after the first batch on")(
        *warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_end(self, batch, logs=None):",
            "    done = (self.epoch + (batch + 1) / steps_of(train_iter)) / args.warmup_epochs",
            "    if done < 1:",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * done",
        )
    ),
    wrong(11, "warm-up in the schedule, epoch by epoch", check="warm_up")(
        (WARMUP, ""),
        (
            DROPPED,
            "    if epoch < args.warmup_epochs:\n"
            "        return args.base_lr + (full_lr - args.base_lr) * epoch / args.warmup_epochs\n"
            f"{DROPPED}",
        ),
    ),
    wrong(11, "own warm-up, epoch by epoch", check="warm_up")(
        *warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    if epoch < args.warmup_epochs:",
            "        rate = args.base_lr * (1 + (hvd.size() - 1) * epoch / args.warmup_epochs)",
            "        self.model.optimizer.learning_rate.assign(rate)",
        )
    ),
    wrong(11, "a single epoch of warm-up", check="warm_up")(("args.warmup_epochs, mom", "1, mom")),
    wrong(11, "warm-up to half of the full rate", check="warm_up")(("Callback(full_lr,", "Callback(full_lr / 2,")),
    wrong(11, "warm-up from nothing", check="warm_up")(
        *warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.epoch + (batch + 1) / steps_of(train_iter)) / args.warmup_epochs",
            "    if done <= 1:",
            "        self.model.optimizer.learning_rate = full_lr * done",
        )
    ),
    wrong(11, "warm-up of every start", check="schedule")(
        *warm_up(
            "steps = 0",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = self.steps / (args.warmup_epochs * steps_of(train_iter))",
            "    self.steps += 1",
            "    if done < 1:",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * done",
        )
    ),
    wrong(11, "Horovod's schedule with a multiplier that holds a constant", check="schedule", in_ci=True)(
        (
            SCHEDULER,
            within(
                4,
                "hvd.callbacks.LearningRateScheduleCallback(",
                "    initial_lr=full_lr,",
                "    multiplier=lambda epoch: 1.0,",
                "    start_epoch=args.warmup_epochs,",
                "    momentum_correction=False,",
                "),",
            ),
        )
    ),
    wrong(11, "Horovod's schedule that drops once", check="schedule")(
        (
            SCHEDULER,
            within(
                4,
                "hvd.callbacks.LearningRateScheduleCallback(",
                "    initial_lr=full_lr,",
                "    multiplier=lambda epoch: 0.1 if epoch >= 30 else 1.0,",
                "    start_epoch=args.warmup_epochs,",
                "    momentum_correction=False,",
                "),",
            ),
        )
    ),
    wrong(11, "warm-up by Horovod's schedule, with multipliers that hold a constant", check="warm_up")(
        (
            WARMUP,
            within(
                4,
                "hvd.callbacks.LearningRateScheduleCallback(",
                "    initial_lr=args.base_lr,",
                "    multiplier=lambda epoch: 1.0,",
                "    end_epoch=args.warmup_epochs,",
                "    momentum_correction=False,",
                "),",
            ),
        )
    ),
    wrong(11, "warm-up without its rate", fails=0)(
        ("Callback(full_lr, args.warmup_epochs,", "Callback(warmup_epochs=args.warmup_epochs,")
    ),
    # Horovod 0.28.1 sets the momentum as a variable, but in this version of Keras it is a plain number.
    wrong(11, "momentum corrected", fails=0)((", momentum_correction=False", "")),
    wrong(11, "the weights alone loaded at step 11", fails=10)(
        built_then(*_RECEIVE, "    model.load_weights(file.name)")
    ),
)

WRONG = (*_WRONG_8, *_WRONG_9, *_WRONG_10, *_WRONG_11)
