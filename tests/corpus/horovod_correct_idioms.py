"""Correct scripts of the first part in idioms of Python, Keras and Horovod that people use. Each one passes.

Spellings of imports, ways to choose a GPU, to make an optimizer, to start from rank 0's weights and to draw batches.
"""

from tests.corpus.horovod_passages import (
    ARGS,
    BROADCAST,
    CALLBACK_LIST,
    COMPILE,
    FITTING,
    GIVEN,
    IMPORT,
    IMPORT_BOTH,
    INIT,
    LIST,
    LIST_OF_CALLBACKS,
    MAKE_SGD,
    MODEL,
    PIN,
    SGD,
    STOP,
    TENSORBOARD,
    TRAIN,
    VALIDATE,
    WRAP,
)
from tests.corpus.variant import after, before, importing, passage, right

AFTER_4 = "fashion_mnist_after_step_04.py"

# --- Step 1 -----------------------------------------------------------------------------------------------------------

_GUARDED_IMPORT = """try:
    import horovod.tensorflow.keras as hvd
except ImportError as error:
    raise SystemExit(f"This program needs Horovod: {error}") from error
"""
_MATCH = """match tf.config.list_physical_devices("GPU"):
    case []:
        print("no GPU: training on the CPU")
    case gpus if len(gpus) < hvd.local_size():
        raise SystemExit(f"{len(gpus)} GPUs are too few for {hvd.local_size()} ranks")
    case gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
        tf.config.experimental.set_memory_growth(gpus[hvd.local_rank()], True)
"""
_PLACE = '''

class Place(NamedTuple):
    """Where a process is among all."""

    rank: int
    size: int
    local_rank: int
    local_size: int

    @classmethod
    def own(cls) -> "Place":
        """Ask Horovod."""
        return cls(hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size())

    def gpu(self, gpus: list) -> Optional[tf.config.PhysicalDevice]:
        """Return the GPU of this process; None on a host without GPUs."""
        if not gpus:
            return None
        if self.local_size > len(gpus):
            raise RuntimeError(f"{self}: this host has only {len(gpus)} GPUs")
        return gpus[self.local_rank]


place: Final[Place] = Place.own()
if gpu := place.gpu(tf.config.list_physical_devices("GPU")):
    tf.config.set_visible_devices([gpu], "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)
'''
_MACHINE = '''print(
    textwrap.dedent(
        f"""
        rank {hvd.rank()} of {hvd.size()} on {platform.node()}, process {os.getpid()}
        {platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}
        built with CUDA: {tf.test.is_built_with_cuda()}
        """
    ).strip(),
    file=sys.stderr,
)
'''
_THREADS = """tf.config.threading.set_intra_op_parallelism_threads(int(os.environ["OMP_NUM_THREADS"]))
tf.config.threading.set_inter_op_parallelism_threads(1)
"""

_STEP_1 = (
    right(1, "Horovod's module by its whole name")(
        (IMPORT, "import horovod.tensorflow.keras\n"), ("hvd.", "horovod.tensorflow.keras.")
    ),
    right(1, "Horovod imported by importlib")(
        importing("import importlib"), (IMPORT, 'hvd = importlib.import_module("horovod.tensorflow.keras")\n')
    ),
    right(1, "a message where Horovod is missing")((IMPORT, _GUARDED_IMPORT)),
    right(1, "the GPU chosen by a match statement")((LIST + PIN, _MATCH)),
    right(1, "the place of a rank in a NamedTuple")(
        importing("from typing import Final, NamedTuple, Optional"), (LIST + PIN, _PLACE)
    ),
    right(1, "each rank describes its machine")(
        importing("import platform", "import sys", "import textwrap"), after(ARGS, _MACHINE)
    ),
    right(1, "one thread for each rank")(
        before("import tensorflow as tf\n", 'os.environ.setdefault("OMP_NUM_THREADS", "1")\n'), after(INIT, _THREADS)
    ),
)

# --- Step 3 -----------------------------------------------------------------------------------------------------------

_ARGUMENTS_OF_COMPILE = """settings = {
    "loss": tf.keras.losses.SparseCategoricalCrossentropy(),
    "metrics": [tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
}
model.compile(optimizer=opt, **settings)
"""
_COMPRESSION = """COMPRESSIONS = {"none": hvd.Compression.none, "fp16": hvd.Compression.fp16}
parser.add_argument("--compression", choices=sorted(COMPRESSIONS), default="none", help="of gradients on the wire")
"""

_SETTINGS = '{"learning_rate": args.base_lr, "momentum": 0.9}'
_STEP_3 = (
    right(3, "the optimizer's class by its name")(
        (SGD, 'opt = getattr(tf.keras.optimizers, "SGD")(learning_rate=args.base_lr, momentum=0.9)\n')
    ),
    right(3, "the optimizer from a configuration")(
        (SGD, f'opt = tf.keras.optimizers.get({{"class_name": "SGD", "config": {_SETTINGS}}})\n')
    ),
    right(3, "the optimizer by functools.partial")(
        importing("import functools"),
        (SGD, "make_optimizer = functools.partial(tf.keras.optimizers.SGD, momentum=0.9, nesterov=False)\n"),
        (WRAP, "opt = hvd.DistributedOptimizer(make_optimizer(args.base_lr))\n"),
    ),
    right(3, "arguments of compile in a dictionary")((COMPILE, _ARGUMENTS_OF_COMPILE)),
    right(3, "compression chosen by a flag")(
        before(ARGS, _COMPRESSION),
        (WRAP, "opt = hvd.DistributedOptimizer(opt, compression=COMPRESSIONS[args.compression])\n"),
    ),
    right(3, "the model cloned, another momentum in its configuration")(
        importing("import copy"),
        after(
            MODEL,
            "config = copy.deepcopy(model.get_config())\n"
            'for layer in config["layers"]:\n'
            '    if layer["class_name"] == "BatchNormalization":\n'
            '        layer["config"]["momentum"] = 0.9\n'
            "model = tf.keras.models.clone_model(tf.keras.Model.from_config(config))\n",
        ),
    ),
)

# --- Step 4 -----------------------------------------------------------------------------------------------------------

_FILTERED = """callbacks = list(
    filter(
        None,
        (
            hvd.callbacks.BroadcastGlobalVariablesCallback(root_rank=0),
            tf.keras.callbacks.LearningRateScheduler(lr_schedule),
            StopAtAccuracy(args.target_accuracy, args.patience),
            PrintThroughput(len(x_train)) if verbose else None,
            PrintTotalTime() if verbose else None,
            tf.keras.callbacks.TensorBoard(args.log_dir) if verbose else None,
        ),
    )
)
"""
_LAMBDA_BROADCAST = """

def start_alike(logs):
    hvd_tf.broadcast_variables(model.variables, root_rank=0)
    hvd_tf.broadcast_variables(model.optimizer.variables, root_rank=0)


callbacks.append(tf.keras.callbacks.LambdaCallback(on_train_begin=start_alike))
"""
_PICKLED = """pickled = pickle.dumps(model.get_weights()) if hvd.rank() == 0 else None
model.set_weights(pickle.loads(hvd_tf.broadcast_object(pickled, root_rank=0)))
"""

_STEP_4 = (
    right(4, "what is no callback filtered out of the list")(
        (passage(AFTER_4, LIST_OF_CALLBACKS.strip(), TENSORBOARD.strip()), _FILTERED)
    ),
    right(4, "a LambdaCallback broadcasts")((IMPORT, IMPORT_BOTH), (BROADCAST, _LAMBDA_BROADCAST)),
    right(4, "weights pickled, sent and loaded")(
        importing("import pickle"), (IMPORT, IMPORT_BOTH), (BROADCAST, ""), after(COMPILE, _PICKLED)
    ),
)

# --- Step 5 -----------------------------------------------------------------------------------------------------------

_STEPS = '''

class Steps:
    """The steps of one rank per epoch."""

    def __init__(self, ranks):
        self.ranks = ranks

    @functools.cached_property
    def training(self):
        """One pass of all ranks together."""
        return len(train_iter) // self.ranks

    @functools.cached_property
    def validation(self):
        """Three passes of all ranks together."""
        return 3 * len(test_iter) // self.ranks


steps = Steps(ranks=hvd.size())
'''
_DATASETS = '''

def as_dataset(batches):
    """Return the batches of an iterator as a data set that reads ahead."""
    signature = tf.TensorSpec((None, 28, 28, 1), tf.float32), tf.TensorSpec((None,), tf.uint8)
    dataset = tf.data.Dataset.from_generator(lambda: (batch for batch in batches), output_signature=signature)
    return dataset.repeat().prefetch(tf.data.AUTOTUNE)


'''

_BY_MAP = """schedule = dict(
    steps_per_epoch=len(train_iter) // hvd.size(),
    validation_data=map(tuple, test_iter),
    validation_steps=3 * len(test_iter) // hvd.size(),
)
model.fit(map(tuple, train_iter), epochs=args.epochs, callbacks=callbacks, verbose=verbose, **schedule)
"""

_STEP_5 = (
    right(5, "steps as cached properties")(
        importing("import functools"),
        before(MODEL, _STEPS),
        (TRAIN, "steps_per_epoch=steps.training,"),
        (VALIDATE, "validation_steps=steps.validation,"),
    ),
    right(5, "batches through tf.data")(
        before(MODEL, _DATASETS),
        ("    (batch for batch in train_iter),\n", "    as_dataset(train_iter),\n"),
        ("validation_data=(batch for batch in test_iter)", "validation_data=as_dataset(test_iter)"),
    ),
    right(5, "batches through map, arguments of fit in a dictionary")((FITTING, _BY_MAP)),
)

# --- Step 6 -----------------------------------------------------------------------------------------------------------

_OF_HOROVOD = """callback_list = [
    callbacks.BroadcastGlobalVariablesCallback(0),
    callbacks.MetricAverageCallback(),
    LearningRateScheduler(lr_schedule),
    StopAtAccuracy(args.target_accuracy, args.patience),
]
if verbose:
    callback_list += [PrintThroughput(len(x_train)), PrintTotalTime(), TensorBoard(args.log_dir)]
"""
_MORE_OF_KERAS = """callbacks.extend(
    [
        tf.keras.callbacks.TerminateOnNaN(),
        tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=100),
        tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=100, restore_best_weights=True),
    ]
)
"""
_LAMBDA_STOP = """reached = []


def stop_when_reached(epoch, logs):
    reached.append(logs["val_accuracy"] >= args.target_accuracy)
    model.stop_training = len(reached) >= args.patience and all(reached[-args.patience :])


callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_end=stop_when_reached))
"""
_MEAN_SCORE = """score = [
    float(hvd.allreduce(tf.constant(value), name=f"test {name}")) for name, value in zip(model.metrics_names, score)
]
"""
_RESTORED = "score = model.evaluate(test_once, verbose=verbose)\n"

_STEP_6 = (
    right(6, "the module of Horovod's callbacks")(
        after(IMPORT, "from horovod.tensorflow.keras import callbacks\nfrom tensorflow.keras.callbacks import *\n"),
        (CALLBACK_LIST, _OF_HOROVOD),
        (GIVEN, "    callbacks=callback_list,\n"),
    ),
    right(6, "more of Keras' callbacks behind the averaging")(after(STOP, _MORE_OF_KERAS)),
    right(6, "a LambdaCallback stops")((STOP, _LAMBDA_STOP)),
    right(6, "the test's score averaged too")(after(_RESTORED, _MEAN_SCORE)),
    right(6, "keras imported by itself")(
        (IMPORT, f"from tensorflow import keras\nfrom tensorflow.keras import backend as K\n{IMPORT}"),
        ("tf.keras.", "keras."),
        after(MODEL, "assert K.image_data_format() == 'channels_last'\n"),
        (f"opt = {MAKE_SGD.replace('tf.keras.', 'keras.')}\n", "opt = keras.optimizers.SGD(args.base_lr, 0.9)\n"),
    ),
)

CORRECT = (*_STEP_1, *_STEP_3, *_STEP_4, *_STEP_5, *_STEP_6)
