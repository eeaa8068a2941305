"""What a script uses that is not on the list: nothing in odd but right scripts, and all that goes after the judge."""

import ast
from pathlib import Path

import pytest

from grader import sandboxed
from grader.runner import uses
from grader.runner.allowlist import NAMES

BEFORE = """import argparse, os, sys, json
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from tensorflow.keras import layers
from tensorflow.keras.callbacks import Callback
parser = argparse.ArgumentParser()
args = parser.parse_args()
model = tf.keras.Model()
"""

# Parts of scripts that work, and are written in other ways than the solutions.
ODD = [
    "class Progress:\n    def __init__(self):\n        self.step = 0\n        self.parent = None\nprogress = Progress()\nprogress.step += 1\nprogress.parent = progress",
    "import collections\nBase = collections.namedtuple('Base', 'x y')\nclass Point(Base):\n    pass",
    "class Rates:\n    def _get(self):\n        return 1\n    rate = property(_get)",
    "class Trainer:\n    def run(self):\n        self._fit()\n    def _fit(self):\n        self._kept = 1",
    "from course import data\nclass Net(tf.keras.Model):\n    def train_step(self, data):\n        x, y = data\ntry:\n    data.load()\nexcept data.DataError:\n    pass",
    "import functools\nclass Own:\n    @functools.lru_cache\n    def table(self, size):\n        return size\nOwn.table(3)",
    "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass Copied:\n    folder: str\n    files: int = field(init=False)\n    def __post_init__(self):\n        object.__setattr__(self, 'files', 3)\nmatch Copied('a'):\n    case Copied(folder):\n        print(folder)",
    "match json.loads('{}'):\n    case {'task': {'type': str(kind), 'index': int(index)}}:\n        print(kind, index)",
    "from functools import total_ordering\n@total_ordering\nclass Score:\n    def __init__(self, value):\n        self._value = value\n    def __eq__(self, other):\n        return self._value == other._value if isinstance(other, Score) else NotImplemented\n    def __lt__(self, other):\n        if not isinstance(other, Score):\n            return NotImplemented\n        return self._value < other._value\n    def __bool__(self):\n        return self._value > 0",
    "from functools import wraps\nfrom typing import Callable, ParamSpec, TypeVar\nP, R = ParamSpec('P'), TypeVar('R')\ndef retrying(on: type[Exception]) -> Callable[[Callable[P, R]], Callable[P, R]]:\n    def decorate(function):\n        @wraps(function)\n        def again(*given: P.args, **named: P.kwargs) -> R:\n            try:\n                return function(*given, **named)\n            except on:\n                return function(*given, **named)\n        return again\n    return decorate",
    "import logging\nclass Line(logging.Formatter):\n    def format(self, record):\n        return f'{record.relativeCreated:.0f} {record.created} {record.threadName} {super().format(record)}'",
    "import shutil, weakref\nclass Folder:\n    def __init__(self, path):\n        self.remove = weakref.finalize(self, shutil.rmtree, path)\nFolder('a').remove()",
    "import abc\nclass Rule(abc.ABC):\n    rules = {}\n    def __init_subclass__(cls, *, name, **given):\n        super().__init_subclass__(**given)\n        cls.rules[name] = cls",
    "class C(Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        own = dict(logs)\n        logs.setdefault('x', 1)\n        self.model.stop_training = own['loss'] > 1",
    'tf.config.run_functions_eagerly(False)',
    "import csv\nwith open('m.csv','w') as f:\n    w = csv.writer(f)\n    w.writerow([1])",
    "with open(os.devnull, mode='w') as f: print('x', file=f)",
    'import socket\nprint(socket.gethostname())',
    'import itertools\nprint(list(itertools.chain.from_iterable([[1], [2]])))',
    'import tempfile\nfolder = tempfile.TemporaryDirectory()\nprint(folder.name)\nfolder.cleanup()',
    "import io, tempfile\nhandle, partial = tempfile.mkstemp(dir=args.log_dir)\nos.write(handle, io.BytesIO().getvalue())\nprint(os.fstat(handle).st_size)\nos.close(handle)\nos.replace(partial, args.log_dir)",
    'import posixpath\nprint(posixpath.relpath("a/b", "a"))',
    'class C:\n    def __init__(self, arguments):\n        self.arguments = arguments\n    def size(self):\n        return self.arguments.image_size\n',
    "FLAGS = (('--cache-dir', str),)\nfor name, kind in FLAGS:\n    parser.add_argument(name, type=kind)\n"
    "def folder(given):\n    return given.cache_dir",
    "add = parser.add_argument\nadd('--val-batch-size', type=int)\ndef size(options):\n    return options.val_batch_size",
    'class Checkpoints:\n    class Saver(Callback):\n        pass\nsaver = Checkpoints.Saver()',
    "import logging\nlog = logging.getLogger(__name__)\nlog.setLevel(logging.INFO)\nlog.info('a')",
    'from dataclasses import dataclass\n@dataclass\nclass Settings:\n    lr: float = 0.1\ns = Settings()\nprint(s.lr)',
    'import enum\nclass Kind(enum.Enum):\n    A = 1\nprint(Kind.A.value, Kind.A.name)',
    "from pathlib import Path\np = Path(args.log_dir)\np.mkdir(parents=True, exist_ok=True)\nfor q in sorted(p.glob('*.h5'), key=lambda q: q.stat().st_mtime): q.unlink(missing_ok=True)",
    'opt = tf.keras.optimizers.SGD(learning_rate=0.1 * hvd.size(), momentum=0.9)\nopt = hvd.DistributedOptimizer(opt)',
    'x = np.random.default_rng(3).permutation(100)[hvd.rank()::hvd.size()]',
    'for layer in model.layers:\n    layer.trainable = False',
    "history = model.fit()\nprint(history.history['loss'][-1])",
    'tf.keras.backend.clear_session()',
    'lr = tf.keras.backend.get_value(model.optimizer.lr)\ntf.keras.backend.set_value(model.optimizer.learning_rate, lr * 0.1)',
    'ds = tf.data.Dataset.from_tensor_slices((np.zeros(3), np.zeros(3))).shuffle(10, seed=1).batch(2).prefetch(tf.data.AUTOTUNE)',
    "for f in tf.io.gfile.listdir('x'):\n    with tf.io.gfile.GFile(f, 'rb') as g:\n        g.read()",
    "gpus = tf.config.list_physical_devices('GPU')\nif gpus:\n    tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')\n    tf.config.experimental.set_memory_growth(gpus[hvd.local_rank()], True)",
    'try:\n    pass\nexcept OSError as error:\n    print(error.errno, error.strerror, file=sys.stderr)',
    "import functools\nf = functools.partial(print, 'x')\nf()",
    'from typing import Optional, List\ndef f(x: Optional[List[int]] = None) -> int: return 1',
    'import concurrent.futures\nwith concurrent.futures.ThreadPoolExecutor(4) as ex:\n    list(ex.map(str, [1]))',
    'import concurrent.futures as cf\nwith cf.ThreadPoolExecutor() as ex:\n    r = ex.submit(str, 1).result()',
    'class Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.dense = layers.Dense(3)\n    def call(self, x, training=False):\n        return self.dense(x)',
    "import time\nstart = time.time()\nprint(f'{time.time()-start:.2f}')",
    'from tensorflow.keras.preprocessing.image import ImageDataGenerator, NumpyArrayIterator',
    "def main():\n    global model\n    model = None\nif __name__ == '__main__':\n    main()",
    "name = '{}-{:03d}'.format('x', 3)\nprint('%s %d' % ('a', 1))",
    "best = float('inf')\nassert best > 0, 'x'",
    "class Averages(Callback):\n    def __init__(self, *a, **k):\n        super(Averages, self).__init__(*a, **k)\n        self._seen = []\n        self.metrics_seen = {}\n    def on_epoch_end(self, epoch, logs=None):\n        logs = logs or {}\n        logs.update({k: float(v) for k, v in logs.items()})\n        self._seen.append(logs.get('loss'))",
    "os.environ['CUDA_VISIBLE_DEVICES'] = str(hvd.local_rank())\nos.environ.setdefault('TF_CPP_MIN_LOG_LEVEL','2')",
    'import random\nrandom.seed(1)\nnp.random.seed(1)\ntf.random.set_seed(1)',
    "sys.stdout.flush()\nsys.stdout.write('x')",
    'import itertools, collections\nc = collections.Counter([1])\nc.most_common(1)\nd = collections.defaultdict(list)\nd[1].append(2)\nod = collections.OrderedDict()\nod.move_to_end',
    "import horovod.tensorflow as hvdtf\nx = hvdtf.allgather_object(3)\ny = hvdtf.broadcast_object({'a':1}, root_rank=0, name='e')",
    'from tensorflow import keras\nkeras.utils.set_random_seed(1)\nk = keras.backend',
    'import tensorflow.keras.backend as K\nK.set_value(model.optimizer.lr, 0.1)',
    "if hasattr(model.optimizer, 'lr'): pass\nx = getattr(args, 'lr', 0.1)",
    'cfg = vars(args)\nprint(json.dumps(cfg, indent=2))',
    'print(type(model).__name__)\nassert isinstance(model, tf.keras.Model)',
    "from datetime import datetime\nd = datetime.now().strftime('%H')",
    "import re\nm = re.match(r'(\\d+)', 'x')\nif m: m.group(1)",
    'images.index_array = 3\nmodel.optimizer.learning_rate = 0.3\nmodel.optimizer.learning_rate.assign(0.1)',
    "lines = [l.rstrip() for l in open('f')]\nwords = ' '.join(lines).lower().split(',')",
    'import tqdm\nfor i in tqdm.tqdm(range(3)): pass',
    's = tf.distribute.MultiWorkerMirroredStrategy(communication_options=tf.distribute.experimental.CommunicationOptions(implementation=tf.distribute.experimental.CommunicationImplementation.RING))\nr = s.cluster_resolver\nprint(r.task_id, r.task_type, r.cluster_spec().as_dict())',
    'hvd.callbacks.MetricAverageCallback()\ncb = hvd.callbacks',
    "def lr(epoch): return 0.1\ncbs = [tf.keras.callbacks.LearningRateScheduler(lr)]\ncbs.append(tf.keras.callbacks.ModelCheckpoint('x'))",
    "import warnings\nwarnings.filterwarnings('ignore')",
    "os.path.exists('x') and os.path.join('a','b')",
    "from os import path\npath.join('a','b')",
    'x: int = 3\ndef gen():\n    yield 3\nnext(gen())',
    'lam = lambda e: e * 2\nmodel.add(layers.Lambda(lambda x: x * 2))',
    "tf.get_logger().setLevel('ERROR')\ntf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)",
    'import signal\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(0))',
    "model.compile(optimizer='sgd', loss='mse', metrics=['accuracy'], run_eagerly=False, experimental_run_tf_function=False)",
]  # fmt: skip


@pytest.mark.parametrize("code", ODD)
def test_odd_but_right_scripts_use_nothing_that_is_not_on_the_list(code):
    assert uses.out_of_place(ast.parse(BEFORE + code)) == []


@pytest.mark.parametrize("length", [15, 40])
def test_more_aliases_than_can_be_followed_are_pointed_out(length):
    chain = "\n".join(f"a{number} = a{number + 1}" for number in range(length))
    assert bool(uses.out_of_place(ast.parse(f"import json\n{chain}\na{length} = json\n"))) is (length > 20)


def test_what_a_callback_of_the_recorder_holds_is_out_of_reach():
    """No class of a script makes these names its own: an object of the recorder's could be its self."""
    held = set()
    for path in Path(sandboxed.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and ast.unparse(node.value) == "self"
            ):
                held |= {node.attr} if node.attr.startswith("_") else set()
    assert held - {"_supports_tf_logs"} == {name for name in NAMES["inside"] if name.startswith("_")}
