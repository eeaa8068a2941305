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
    COPIER,
    COUNT,
    CREATE,
    DOCUMENTED,
    DOWNLOAD,
    DROPPED,
    EPOCHS,
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
    importing,
    state_by_hand,
    warm_up,
    within,
)
from tests.corpus.variant import Variant


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
            importing("import shutil"),
            (COPIER, "if True:\n    try:\n"),
            *copied_by("shutil.copytree(args.data_url, data_dir, dirs_exist_ok=True)"),
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
    Variant("no rank waits", 8, _slow(_ONE_COPIES), 8),
    Variant("waiting before the copy", 8, _slow(f"hvd.allreduce(0)\n{_ONE_COPIES}"), 8),
    Variant("only the copier waits", 8, _slow(f"{_ONE_COPIES}    hvd.allreduce(0)\n"), 8),
    Variant("only the others wait", 8, _slow(f"{_ONE_COPIES}else:\n    hvd.allreduce(0)\n"), 0),
    Variant("a barrier that this Horovod has not", 8, ((WAIT, "hvd.barrier()\n"),), 0),
    # The rank that copies waits in a broadcast, the other ranks wait in an allreduce.
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
    Variant("no data, and a good end", 8, (importing("import sys"), (GIVE_UP, "    sys.exit(0)\n")), 8),
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
            importing("import shutil"),
            _results("if Path(args.log_dir).exists():", _COPY_RESULTS),
        ),
        8,
    ),
    Variant(
        "results copied by a rank of each host",
        8,
        (
            importing("import shutil"),
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
    Variant("results not copied", 8, ((UPLOAD, ""),), 8),
    Variant(
        "results copied before training",
        8,
        (
            (UPLOAD, ""),
            (BEFORE_FIT, f"if hvd.rank() == 0:\n    Path(args.log_dir).mkdir()\n{UPLOAD}{BEFORE_FIT}"),
        ),
        8,
        in_ci=True,
    ),
    Variant("results copied before the weights are there", 8, ((SAVE_WEIGHTS + UPLOAD, UPLOAD + SAVE_WEIGHTS),), 8),
    Variant(
        "weights alone copied",
        8,
        (
            importing("import shutil"),
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
            importing("import shutil"),
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
    Variant(
        "copied by shutil",
        8,
        (importing("import shutil"), *copied_by("shutil.copytree(args.data_url, data_dir, dirs_exist_ok=True)")),
        8,
        check="any_store",
    ),
    Variant(
        "copied file by file",
        8,
        copied_by(
            "if not Path(args.data_url).is_dir():",
            '    raise FileNotFoundError(f"{args.data_url} is no folder")',
            'for path in Path(args.data_url).rglob("*.*"):',
            "    target = data_dir / path.relative_to(args.data_url)",
            "    target.parent.mkdir(parents=True, exist_ok=True)",
            "    target.write_bytes(path.read_bytes())",
        ),
        8,
        check="any_store",
    ),
    Variant(
        "copied by the operating system's walk",
        8,
        (
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
        8,
        check="any_store",
    ),
    Variant(
        "the copier's error never caught",
        8,
        ((STAGE, f"if hvd.local_rank() == 0:\n    {DOWNLOAD}\nhvd.allreduce(0)\n"),),
        8,
        check="all_end",
    ),
    Variant(
        "results copied by shutil",
        8,
        (
            importing("import shutil"),
            (UPLOAD, "    shutil.copytree(args.log_dir, args.train_url, dirs_exist_ok=True)\n"),
        ),
        8,
        check="any_store",
    ),
    # --- One of two hosts cannot reach the store ---
    Variant(
        "only the rank whose copy fails ends",
        8,
        ((CAUGHT, "except store.StoreError as error:\n        raise SystemExit(str(error))\n"),),
        8,
        check="all_end",
    ),
    Variant(
        "the mean of the failures cut to a whole number",
        8,
        ((WAIT, "failures = int(hvd.allreduce(tf.constant(failures)))\n"),),
        8,
        check="all_end",
    ),
    Variant(
        "waiting for the folder to appear",
        8,
        (
            importing("import time"),
            (CAUGHT, "except store.StoreError as error:\n        raise SystemExit(str(error))\n"),
            (WAIT + ANY + GIVE_UP, "while not data_dir.exists():\n    time.sleep(0.1)\n"),
        ),
        8,
        check="all_end",
    ),
    Variant(
        "the folder of rank 0 awaited on every host",
        8,
        (
            importing("import time"),
            (COPIER, "if hvd.rank() == 0:\n    try:\n"),
            (WAIT + ANY + GIVE_UP, "while not data_dir.exists():\n    time.sleep(0.1)\n"),
        ),
        8,
        check="staged",
    ),
    Variant(
        "every host looks for itself",
        8,
        ((WAIT + ANY, "hvd.allreduce(0)\nif not data_dir.exists():\n"),),
        8,
        check="all_end",
    ),
    Variant(
        "the failure known on its host alone",
        8,
        ((WAIT, f"{WAIT}failures = failures and int(not data_dir.exists())\n"),),
        8,
        check="all_end",
    ),
    Variant("the failure never printed", 8, (("        print(error)\n", ""),), 8, check="error_printed"),
    Variant("ended without a line", 8, ((GIVE_UP, "    raise SystemExit(1)\n"),), 8, check="all_end"),
    Variant(
        "copied to another folder",
        8,
        ((LOCAL_COPY, 'data_dir = Path("elsewhere")\n'),),
        8,
        check="reads_copy",
    ),
    Variant(
        "the store emptied at the end",
        8,
        (
            importing("import shutil"),
            (UPLOAD, f"{UPLOAD}    shutil.rmtree(args.data_url, ignore_errors=True)\n"),
        ),
        8,
        check="data_stay",
    ),
    # An error of the model's is no matter of where results are.
    Variant("a class too many", 8, (("layers.Dense(args.classes,", "layers.Dense(args.classes + 1,"),), 0),
)

_WRONG_9 = (
    Variant("the starter of step 9", 9, (), 9, "imagenet_resnet50_after_step_08.py"),
    Variant(
        "NumPy's own generator seeded with the epoch",
        9,
        ((f"order = {SHUFFLE}", "np.random.seed(epoch)\n        order = np.random.permutation(images.samples)"),),
        9,
        check="own_generator",
    ),
    Variant(
        "one seed for the images of all ranks",
        9,
        (("model.fit(\n", "np.random.seed(1)\nmodel.fit(\n"),),
        9,
        check="own_generator",
    ),
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
        "two ranks assumed",
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
    Variant(
        "one generator for all epochs",
        9,
        (
            (EPOCHS, f"    numbers = np.random.default_rng(42)\n{EPOCHS}"),
            ("np.random.default_rng(epoch)", "numbers"),
            (VALIDATE, _VALIDATE_ALL),
        ),
        9,
        check="resumed_shares",
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
        9,
        check="new_shares",
    ),
    Variant("all validation images on every rank", 9, ((VALIDATE, _VALIDATE_ALL),), 9, check="validation_shares"),
    Variant(
        "the hash of a text",
        9,
        (("default_rng(epoch)", 'default_rng(hash(f"epoch {epoch}") % 2**32)'),),
        9,
        check="shares",
    ),
    Variant(
        "--seed, where it is given",
        9,
        (("default_rng(epoch)", "default_rng([args.seed or 0, epoch])"),),
        9,
        check="shares",
    ),
    Variant(
        "epochs counted from 0",
        9,
        (("itertools.count(initial_epoch)", "itertools.count()"),),
        9,
        check="resumed_shares",
    ),
    Variant(
        "two orders in alternation", 9, (("default_rng(epoch)", "default_rng(epoch % 2)"),), 9, check="resumed_shares"
    ),
    Variant("validation left as it was", 9, ((VALIDATE, _VALIDATE_AS_BEFORE),), 9, check="validation_shares"),
    Variant(
        "three passes over validation shares",
        9,
        (("validation_steps=steps_of(val_iter)", "validation_steps=3 * steps_of(val_iter)"),),
        9,
        check="validation_shares",
    ),
    Variant(
        "another order for each validation",
        9,
        (("itertools.repeat(0)", "itertools.count()"),),
        9,
        check="validation_shares",
    ),
    Variant("shares that are not made even", 9, ((f"        order = {PAD}\n", ""),), 9, check="share_steps"),
    Variant("steps of whole batches alone", 9, ((COUNT, COUNT.replace("ceil(m", "floor(m")),), 9, check="share_steps"),
    Variant(
        "validation on training images",
        9,
        (("share_of(val_iter,", "share_of(train_iter,"),),
        9,
    ),
    Variant("shares for two ranks", 9, ((TAKE, "order[hvd.rank() :: 2]"),), 9, check="share_steps"),
    Variant(
        "shares that the ranks take in turn",
        9,
        (("default_rng(epoch)", "default_rng(0)"), (TAKE, "order[(hvd.rank() + epoch) % hvd.size() :: hvd.size()]")),
        9,
        check="new_shares",
    ),
    Variant(
        "one order for several epochs",
        9,
        ((PAD, "np.resize(order, images.samples * hvd.size() * hvd.size())"),),
        9,
        check="new_shares",
    ),
    Variant(
        "as many steps of validation as of training",
        9,
        (("validation_steps=steps_of(val_iter)", "validation_steps=steps_of(train_iter)"),),
        9,
        check="validation_shares",
    ),
    Variant("results not copied at step 9", 9, ((UPLOAD, ""),), 8),
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
        "a file of that name on the rank's own host",
        10,
        (
            (
                LOAD,
                "    content = broadcast_object(checkpoint, root_rank=0)\n"
                "    path = checkpoint_path(initial_epoch)\n"
                "    if not path.exists():\n"
                "        path.parent.mkdir(exist_ok=True)\n"
                "        path.write_bytes(content)\n"
                "    model = hvd.load_model(path)\n",
            ),
        ),
        10,
    ),
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
        state_by_hand(
            "if hvd.rank() == 0:",
            "    state = checkpoint_path(initial_epoch).read_bytes()",
            *(f"    {line}" for line in SET_BY_HAND),
        ),
        10,
    ),
    Variant("the weights alone loaded", 10, (built_then(*_RECEIVE, "    model.load_weights(file.name)"),), 10),
    Variant(
        "the weights alone saved",
        10,
        (
            (SAVE, '        self.model.save_weights(partial, save_format="h5")\n'),
            built_then(*_RECEIVE, "    model.load_weights(file.name)"),
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
    Variant("loaded, and not used", 10, (built_then(*_RECEIVE, "    loaded = hvd.load_model(file.name)"),), 10),
    # Without the wrapped optimizer, the replicas diverge from the second batch on.
    Variant("loaded without Horovod", 10, (("hvd.load_model(", "tf.keras.models.load_model("),), 10),
    Variant(
        "loaded, and compiled anew",
        10,
        (
            (
                LOAD_OR_BUILD,
                "if initial_epoch:\n"
                f"{within(4, *_RECEIVE, '    model = hvd.load_model(file.name)')}"
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
        in_ci=True,
    ),
    Variant(
        "copied to its name",
        10,
        (importing("import shutil"), (RENAME, "        shutil.copy(partial, path)\n        partial.unlink()\n")),
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
    Variant(
        "saved at the end of training alone",
        10,
        (
            (
                "    def on_epoch_end(self, epoch, logs=None):\n",
                "    def on_train_end(self, logs=None):\n        epoch = args.epochs - 1\n",
            ),
            (DOCUMENTED, ""),
        ),
        10,
        check="saved_each_epoch",
    ),
    Variant(
        "saved after every second epoch",
        10,
        ((PATH, f"        if epoch % 2 == 0:\n            return\n{PATH}"),),
        10,
        check="saved_each_epoch",
    ),
    Variant(
        "saved where validation is better than before",
        10,
        (
            (
                PATH,
                '        if logs["val_loss"] >= getattr(self, "best", math.inf):\n            return\n'
                f'        self.best = logs["val_loss"]\n{PATH}',
            ),
        ),
        10,
        check="saved_each_epoch",
    ),
    Variant(
        "the newest by the time of its file",
        10,
        (
            (
                NEWEST,
                '    found = list(Path(args.log_dir).glob("checkpoint-*.h5"))\n'
                "    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)\n"
                '    return int(newest.stem.split("-")[-1]) if newest else 0\n',
            ),
        ),
        10,
        check="goes_on",
    ),
    Variant(
        "the newest by its name's order",
        10,
        (
            (
                NEWEST,
                '    found = sorted(Path(args.log_dir).glob("checkpoint-*.h5"))\n'
                '    return int(found[-1].stem.split("-")[-1]) if found else 0\n',
            ),
        ),
        10,
        check="goes_on",
    ),
    Variant(
        "as many epochs as there are files",
        10,
        ((NEWEST, '    return len(list(Path(args.log_dir).glob("checkpoint-*.h5")))\n'),),
        10,
        check="loaded_everywhere",
    ),
    Variant(
        "the highest epoch of all ranks",
        10,
        (
            (OBJECT_IMPORT, "from horovod.tensorflow import allgather_object, broadcast_object\n"),
            (RESUME, "initial_epoch = max(allgather_object(newest_checkpoint()))\n"),
        ),
        10,
    ),
    Variant(
        "copied to its name by TensorFlow",
        10,
        ((RENAME, "        tf.io.gfile.copy(str(partial), str(path), overwrite=True)\n"),),
        10,
        check="renamed",
    ),
    Variant(
        "written to its name by os.open",
        10,
        (
            (
                RENAME,
                "        whole = os.open(path, os.O_WRONLY | os.O_CREAT)\n"
                "        os.write(whole, partial.read_bytes())\n"
                "        os.close(whole)\n",
            ),
        ),
        10,
        check="renamed",
    ),
    Variant(
        "written by all ranks, under one name",
        10,
        (
            (PARTIAL, f"        path.parent.mkdir(exist_ok=True)\n{PARTIAL}"),
            (KEEPER, "callbacks.append(SaveCheckpoint())\n"),
        ),
        10,
        check="one_writer",
    ),
    Variant(
        "written by Keras' callback on all ranks",
        10,
        (
            (
                KEEPER,
                'names = f"{args.log_dir}/{args.checkpoint_format}"\n'
                "callbacks.append(tf.keras.callbacks.ModelCheckpoint(names))\n",
            ),
        ),
        10,
    ),
    Variant(
        "images counted from the first epoch again",
        10,
        (("itertools.count(initial_epoch)", "itertools.count()"),),
        9,
        check="resumed_shares",
    ),
    Variant("copied by rank 0 alone at step 10", 10, ((COPIER, "if hvd.rank() == 0:\n    try:\n"),), 8),
    Variant("no shuffling at step 10", 10, ((SHUFFLE, "np.arange(images.samples)"),), 9),
)

_WRONG_11 = (
    Variant("the starter of step 11", 11, (), 11, "imagenet_resnet50_after_step_10.py"),
    Variant("scaled, not warmed up", 11, ((WARMUP, ""),), 11),
    Variant("warmed up, not scaled", 11, ((FULL_RATE, "full_lr = args.base_lr\n"),), 11),
    Variant("read on every rank", 10, ((SEND, "    checkpoint = checkpoint_path(initial_epoch).read_bytes()\n"),), 10),
    Variant(
        "loaded on the first rank of each host",
        10,
        (
            (
                "        model = hvd.load_model(file.name)\n",
                "        if hvd.local_rank() == 0:\n            model = hvd.load_model(file.name)\n",
            ),
        ),
        10,
    ),
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
        warm_up(
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
        11,
        check="warm_up",
    ),
    Variant(
        "own warm-up, epoch by epoch",
        11,
        warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    if epoch < args.warmup_epochs:",
            "        rate = args.base_lr * (1 + (hvd.size() - 1) * epoch / args.warmup_epochs)",
            "        self.model.optimizer.learning_rate.assign(rate)",
        ),
        11,
        check="warm_up",
    ),
    Variant("a single epoch of warm-up", 11, (("args.warmup_epochs, mom", "1, mom"),), 11, check="warm_up"),
    Variant(
        "warm-up to half of the full rate",
        11,
        (("Callback(full_lr,", "Callback(full_lr / 2,"),),
        11,
        check="warm_up",
    ),
    Variant(
        "warm-up from nothing",
        11,
        warm_up(
            "def on_epoch_begin(self, epoch, logs=None):",
            "    self.epoch = epoch",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = (self.epoch + (batch + 1) / steps_of(train_iter)) / args.warmup_epochs",
            "    if done <= 1:",
            "        self.model.optimizer.learning_rate = full_lr * done",
        ),
        11,
        check="warm_up",
    ),
    Variant(
        "warm-up of every start",
        11,
        warm_up(
            "steps = 0",
            "",
            "def on_train_batch_begin(self, batch, logs=None):",
            "    done = self.steps / (args.warmup_epochs * steps_of(train_iter))",
            "    self.steps += 1",
            "    if done < 1:",
            "        self.model.optimizer.learning_rate = args.base_lr + (full_lr - args.base_lr) * done",
        ),
        11,
        check="schedule",
    ),
    Variant(
        "Horovod's schedule with a multiplier that holds a constant",
        11,
        (
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
            ),
        ),
        11,
        check="schedule",
        in_ci=True,
    ),
    Variant(
        "Horovod's schedule that drops once",
        11,
        (
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
            ),
        ),
        11,
        check="schedule",
    ),
    Variant(
        "warm-up by Horovod's schedule, with multipliers that hold a constant",
        11,
        (
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
            ),
        ),
        11,
        check="warm_up",
    ),
    Variant(
        "warm-up without its rate",
        11,
        (("Callback(full_lr, args.warmup_epochs,", "Callback(warmup_epochs=args.warmup_epochs,"),),
        0,
    ),
    # Horovod 0.28.1 sets the momentum as a variable, but in this version of Keras it is a plain number.
    Variant("momentum corrected", 11, ((", momentum_correction=False", ""),), 0),
    Variant(
        "the weights alone loaded at step 11", 11, (built_then(*_RECEIVE, "    model.load_weights(file.name)"),), 10
    ),
)

WRONG = (*_WRONG_8, *_WRONG_9, *_WRONG_10, *_WRONG_11)
