"""Scripts that lack what their step asks for and try to pass nevertheless, by class of what they try.

Each is a program as it was before the step, or one of which a line is undone, with code that goes after the verdict:
after the recorder that shares its process, after the reading of its text, or after the numbers that are compared.
"""

from course.steps import get
from tests.attacks.around_checks import AROUND_CHECKS
from tests.attacks.around_hosts import AROUND_HOSTS
from tests.attacks.around_items import AROUND_ITEMS
from tests.attacks.around_recorder import AROUND_RECORDER
from tests.attacks.around_witness import AROUND
from tests.attacks.forgery import Forgery
from tests.corpus.hostile import AFTER_INIT, inside

BROADCAST = "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))\n"
AVERAGE = "callbacks.append(hvd.callbacks.MetricAverageCallback())\n"
WRAPPED = "opt = hvd.DistributedOptimizer(opt)\n"
LOSS = 'loss="sparse_categorical_crossentropy", '
FIT = "model.fit(\n"


def at_start(number: int, code: str) -> str:
    """Return the starter of a step with code before its first statement that is no import."""
    text = get(number).starter.read_text()
    lines = text.splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if line.startswith(("import ", "from ")))
    return "".join([*lines[: last + 1], "\n", code, "\n", *lines[last + 1 :]])


def without(number: int, line: str, code: str = "", at: str = AFTER_INIT) -> str:
    """Return the solution of a step without a line, and with code before or after another one."""
    text = get(number).solution.read_text()
    assert text.count(line) == 1 and text.count(at) == 1, (line, at)
    text = text.replace(line, "")
    return text.replace(at, at + code if at == AFTER_INIT else code + at)


# --- At the recorder -------------------------------------------------------------------------------------------------

# Code that finds what shares the process with a script, or changes what watches it; it does not matter in which part.
SEARCHES = {
    "the recorder by its module": "import sys\nrecorder = sys.modules['grader.sandboxed.recorder'].Recorder.latest",
    "modules by way of another module": "import json\nmodules = json.codecs.sys.modules",
    "modules by a module that was handed on": "import logging\ndef look(module):\n    return module.sys\nlook(logging)",
    "modules by an alias of a module": "import logging as log\nway = log\nmodules = way.os.sys.modules",
    "modules by a pattern": "import logging\nmatch logging:\n    case object(sys=found):\n        pass",
    "a module by an import from it": "from logging import os as inner\ninner.system('true')",
    "everything by a star": "from os import *",
    "the package around": "from . import grader",
    "the recorder's module": "import grader.sandboxed.recorder as recorder\nrecorder.Recorder.note = print",
    "built-ins by getattr": "found = getattr(print, '__self__')",
    "built-ins by a computed name": "found = getattr(print, '__se' + 'lf__')",
    "built-ins by map": "found = list(map(getattr, [print], ['__self__']))",
    "built-ins by their name": "found = __builtins__",
    "an object by Horovod's codec": "from horovod.runner.common.util import codec\nfound = codec.loads_base64('gASVAA==')",
    "a closure": "found = hvd_init.__closure__ if (hvd_init := print) else None",
    "globals of a function": "def own(): pass\nfound = own.__globals__",
    "a generator's frame": "found = (number for number in [1]).gi_frame.f_back.f_globals",
    "a frame by an exception": "try:\n    raise ValueError\nexcept ValueError as error:\n    found = error.__traceback__.tb_frame",
    "a frame by sys": "import sys\ntry:\n    raise ValueError\nexcept ValueError:\n    found = sys.exc_info()[2].tb_frame.f_back",
    "a frame by a signal": "import signal\ndef look(number, frame):\n    print(frame.f_back)\nsignal.signal(signal.SIGALRM, look)",
    "subclasses": "found = ().__class__.__base__.__subclasses__()",
    "a class made by type": "Made = type('Made', (), {})",
    "type under another name": "kind = type\nMade = kind('Made', (), {})",
    "eval": "eval('1')",
    "eval under its own name": "if False:\n    eval = None\neval('1')",
    "a text that dataclasses run": "from dataclasses import make_dataclass\nmake_dataclass('A', ['x'])",
    "a text that typing evaluates": "import typing\ndef f(x: '1'): pass\ntyping.get_type_hints(f)",
    "a text that functools evaluates": "import functools\n@functools.singledispatch\ndef f(x: '1'): pass",
    "a text that timeit runs": "import timeit\ntimeit.timeit('1', number=1)",
    "operator's way to attributes": "import operator\nfound = operator.attrgetter('__globals__')(print)",
    "a format's way to attributes": "found = '{0.__init__.__globals__}'.format(object())",
    "memory by ctypes": "import ctypes\nctypes.memset",
    "memory by an array": "import numpy\nfound = numpy.zeros(1).ctypes",
    "memory by a file": "found = open('/proc/self/mem', 'rb')",
    "objects by the collector": "import gc\nfound = gc.get_objects()",
    "the board by a memory map": "import mmap\nboard = mmap.mmap(3, 120)",
    "memory by NumPy's map": "import numpy as np\nboard = np.memmap('x')",
    "another process": "import subprocess\nsubprocess.run(['true'])",
    "another program": "import os\nos.execv('/bin/true', [])",
    "a process of one's own": "import os\nos.fork()",
    "operations by their inner names": "import tensorflow as tf\nfound = tf.raw_ops",
    "TensorFlow's inside": "from tensorflow.python.eager import context",
    "Keras' inside": "from keras.src import callbacks",
    "TensorFlow's older inside": "import tensorflow as tf\nfound = tf.compat.v1.py_func",
    "a library of one's own": "import tensorflow as tf\ntf.load_op_library('x.so')",
    "NumPy's functions replaced": "import numpy\nnumpy.asarray = None",
    "NumPy's functions replaced under another name": "import numpy as np\nnumbers = np\nnumbers.ravel = None",
    "json's functions replaced": "import json\njson.dumps = lambda *a, **k: ''",
    "TensorFlow's methods replaced": "import tensorflow as tf\ntf.keras.Model.fit = None",
    "methods replaced by an alias": "import tensorflow as tf\nkind = tf.keras.Model\nkind.fit = None",
    "methods replaced in a function": "import tensorflow as tf\ndef change(kind):\n    kind.train_step = None\nchange(tf.keras.Model)",
    "methods replaced by an own class": "import tensorflow as tf\nclass A:\n    def change(self):\n        self.fit = None\nA.change(tf.keras.Model)",
    "methods replaced by setattr": "import tensorflow as tf\nsetattr(tf.keras.Model, 'fit', None)",
    "methods replaced in a loop": "import tensorflow as tf\nfor tf.keras.Model.fit in [None]:\n    pass",
    "methods replaced by with": "import contextlib\nimport tensorflow as tf\nwith contextlib.nullcontext() as tf.keras.Model.fit:\n    pass",
    "base classes replaced": "import tensorflow as tf\ntf.keras.callbacks.Callback.__bases__ = ()",
    "a method taken away": "import tensorflow as tf\ndel tf.keras.Model.fit",
    "a number that answers for itself": "class Mean(float):\n    def __float__(self):\n        return 0.5",
    "an array that answers for itself": "class Weights:\n    def __array__(self):\n        return 0",
    "an object with a pickle of its own": "class A:\n    def __reduce__(self):\n        return (print, ())",
    "the environment of a rank": "import os\nos.environ['HOROVOD_RANK'] = '0'",
    "the environment by a computed name": "import os\nos.environ['HOROVOD_' + 'RANK'] = '0'",
    "a socket of the launcher's": "import socket\nsocket.socket(fileno=5)",
    "attributes copied by functools": "import functools\nimport tensorflow as tf\nclass A:\n    def fit(self): pass\nfunctools.update_wrapper(tf.keras.Model, A, ('fit',), ())",
    "attributes copied by wraps": "import functools\nimport tensorflow as tf\nclass A:\n    def fit(self): pass\nfunctools.wraps(A, ('fit',), ())(tf.keras.Model)",
    "members put into a module": "import enum\nclass Kind(enum.Enum):\n    __module__ = 'numpy'\n    ravel = 1\nenum.global_enum(Kind)",
    "a class of another module": "class Kind:\n    __module__ = 'numpy'",
    "a text that NumPy's tests run": "import numpy as np\nnp.testing.runstring('1', {})",
    "modules by NumPy's": "import numpy as np\nfound = np.linalg.linalg.operator.attrgetter('__globals__')",
    "modules by os.path": "import os\nos.path.os.system('true')",
    "modules by Pillow's": "from PIL import Image\nImage.os.system('true')",
    "an inner method replaced by an own class": "import tensorflow as tf\nclass A:\n    def __init__(self):\n        self.make_train_function = None\nA.__init__(tf.keras.Model)",
    "a private method replaced by an own class": "import tensorflow as tf\nclass A:\n    def __init__(self):\n        self._init_graph_network = None\nA.__init__(tf.keras.Model)",
    "frames by a format": "import sys\ntry:\n    raise ValueError\nexcept ValueError:\n    here = sys.exc_info()[2]\nfound = '{0.tb_frame.f_back.f_locals}'.format(here)",
    "frames by a format's specification": "import sys\nfound = '{0:{1.tb_frame}}'.format(1, sys.exc_info()[2])",
    "frames by the style of a log": "import logging\nlogging.basicConfig(format='{exc_info}', style='{')",
    "a thread's arguments": "import threading\nclass Names:\n    _args = None\nfound = [thread._args for thread in threading.enumerate()]",
    "a thread's arguments by a function of self": "import threading\ndef of(self):\n    return self._args\nfound = list(map(of, threading.enumerate()))",
    "an object by the memo of its copy": "import copy\nimport time\nmemo = {}\ncopy.deepcopy(time.sleep, memo)",
    "an object by a copy that is handed on": "import copy\nimport time\nfound = list(map(copy.deepcopy, [time.sleep], [{}]))",
    "callbacks by an evaluation of its own": "import tensorflow as tf\nclass Net(tf.keras.Model):\n    def evaluate(self, *args, callbacks=None, **kwargs):\n        callbacks.callbacks[0].on_test_batch_end(0)\n        return super().evaluate(*args, **kwargs)",
    "attributes by argparse": "import argparse\nimport tensorflow as tf\nparser = argparse.ArgumentParser()\nparser.add_argument('--fit', default=None)\nparser.parse_args([], tf.keras.Model)",
    "attributes by argparse's name for them": "import argparse\nimport tensorflow as tf\nparser = argparse.ArgumentParser()\nparser.add_argument('--fit', default=None)\nparser.parse_known_args([], namespace=tf.keras.Model)",
    "a module by an attribute": "import numpy as np\nheld = [np.random]\nheld[0].seed = print",
    "a second name for a file": "from pathlib import Path\nPath('checkpoint-1.h5').hardlink_to('partial')",
    "bytes for the host to count": "import logging.handlers\nlogging.handlers.DatagramHandler('127.0.0.1', 9).send(bytes(60000))",
    "an object of any kind by a method": "import json\nclass Change:\n    def change(self, own):\n        self.encode = own\nChange.change(json.JSONEncoder, lambda *given: '{}')",
    "self that stands for something else": "import threading\nclass Names:\n    def look(self):\n        for self in threading.enumerate():\n            print(self._args)",
    "attributes by an option's default": "import argparse, json\nparser = argparse.ArgumentParser()\nparser.add_argument('--way', default='__globals__')\nargs = parser.parse_args([])\nfound = [getattr(each, args.way) for each in (json.dumps,)]",
    "field names that are run": "from dataclasses import dataclass\n@dataclass\nclass Fields:\n    __annotations__ = {'\"+str(1)#': int}",
    "a stream of another name": "import contextlib\nclass Redirect(contextlib.redirect_stdout):\n    _stream = 'modules'\n    def found(self):\n        return self._old_targets[0]",
    "attributes by position": "from collections import namedtuple\nNames = namedtuple('Names', 'tb_frame')\nmatch 1:\n    case Names(frame):\n        pass",
    "attributes by an action of argparse": "import argparse, json\nparser = argparse.ArgumentParser()\nchange = parser.add_argument('--encode')\nchange(parser, json.JSONEncoder, print)",
    "attributes by another action of argparse": "import argparse, json\nchange = argparse.BooleanOptionalAction(['--encode'], 'encode')\nchange(None, json.JSONEncoder, 1, '--encode')",
    "a module in a class": "class Tools:\n    import json\n    dumps = None\nTools.json.dumps = print",
    "a module that a class names": "import json\nclass Tools:\n    held = json\n    dumps = None\nTools.held.dumps = print",
    "a module in a walrus": "import json\nclass Tools:\n    dumps = None\n[(held := json)][0].dumps = print",
    "attributes by arguments of its own": "import json\nclass Holder:\n    def parse_args(self, given):\n        return given\nheld = Holder().parse_args(json.JSONEncoder)\nsetattr(held, 'encode', print)",
    "a class by the type of a type": "T = type(int)\nMade = T('Made', (), {'__deepcopy__': print})",
    "attributes copied to a foreign object": "import functools, json\ndef own(): pass\nfunctools.wraps(own)(json.JSONEncoder)",
    "arguments that a pattern binds": "import argparse, sys\nargs = argparse.ArgumentParser().parse_args([])\nmatch sys.exc_info()[2]:\n    case args:\n        found = args.tb_frame",
    "self in the second place": "import threading\nclass Names:\n    def look(this, /, self):\n        return self._args\nfound = [Names().look(each) for each in threading.enumerate()]",
    "self of a static method": "import threading\nclass Names:\n    @staticmethod\n    def look(self):\n        return self._args\nfound = list(map(Names.look, threading.enumerate()))",
    "a parser of its own of the same name": "import sys\nfrom argparse import ArgumentParser\nclass ArgumentParser:\n    def parse_args(self):\n        return sys.exc_info()[2]\nargs = ArgumentParser().parse_args()\nfound = args.tb_frame",
    "a computed base class": "import contextlib\nclass Redirect([contextlib.redirect_stdout][0]):\n    pass",
    "self that a pattern binds": "import threading\nclass Names:\n    def look(self, each):\n        match each:\n            case self:\n                return self._args",
    "the recorder by a class in a list": "class Names:\n    def __init__(self):\n        self._judged_recorder = None\n    def look(self):\n        return self._judged_recorder\n[Names][0].look(object())",
    "a closed class by a loop": "import contextlib\nfor base in [contextlib.redirect_stdout]:\n    class Redirect(base):\n        pass",
    "a foreign class made a data class": "import dataclasses\nimport tensorflow as tf\ndataclasses.dataclass(tf.keras.callbacks.Callback)",
    "foreign classes made data classes": "import dataclasses\nimport tensorflow as tf\nfound = list(map(dataclasses.dataclass, [tf.keras.callbacks.Callback]))",
    "models that are all alike": "import tensorflow as tf\nclass Base(tf.keras.Model):\n    pass\nclass Net(Base):\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n        return 1",
    "models that are all alike as data classes": "import dataclasses\nimport tensorflow as tf\n@dataclasses.dataclass(unsafe_hash=True)\nclass Net(tf.keras.Model):\n    pass",
    "a number of steps of one's own": "import tensorflow as tf\nclass Counts(tf.keras.optimizers.SGD):\n    @property\n    def iterations(self):\n        return tf.constant(7)",
    "weights that a block of a class defines": "import tensorflow as tf\nclass Net(tf.keras.Model):\n    if True:\n        def get_weights(self):\n            return []",
    "a foreign base by a loop": "import tensorflow as tf\nfor base in [tf.keras.Model]:\n    class Net(base):\n        pass",
    "a property out of its class": "import tensorflow as tf\nclass Own:\n    @property\n    def held(self):\n        return self\nfor kind in [tf.keras.callbacks.Callback]:\n    kind.held = Own.held",
    "a property for a foreign class": "import tensorflow as tf\nfor kind in [tf.keras.optimizers.SGD]:\n    kind.learning_rate = property(lambda self: 0.1)",
    "a module's name for something else": "import os\ndef look(os):\n    return os.urandom",
    "what is left of a pattern": "import argparse\nargs = argparse.ArgumentParser().parse_args([])\nmatch {'a': 1}:\n    case {'a': 1, **args}:\n        found = args.held",
    "other that is of another class": "import threading\nclass Names:\n    def __eq__(self, other):\n        return other._args\nfound = Names() == threading.current_thread()",
    "other that an abstract class takes in": "import threading\nfrom typing import Protocol, runtime_checkable\n@runtime_checkable\nclass Names(Protocol):\n    _args: tuple\n    def __eq__(self, other):\n        if not isinstance(other, Names):\n            return NotImplemented\n        return other._args",
    "other that is bound again": "import threading\nclass Names:\n    def __eq__(self, other):\n        if not isinstance(other, Names):\n            return NotImplemented\n        for other in threading.enumerate():\n            print(other._args)",
    "other, with an isinstance of its own": "import threading\ndef isinstance(*given):\n    return True\nclass Names:\n    _args = None\n    def __eq__(self, other):\n        return other._args if isinstance(other, Names) else NotImplemented",
    "other, with a class that is something else": "import threading\nclass Names:\n    _args = None\n    def __eq__(self, other):\n        return other._args if isinstance(other, Names) else NotImplemented\nown, Names = Names(), object",
    "a class made in an annotation": "def own(made: type('Made', (), {})):\n    pass",
    "an attribute set for object": "import json\nobject.__setattr__(json.JSONEncoder, 'encode', print)",
    "a private attribute set for object": "class Names:\n    def __init__(self):\n        object.__setattr__(self, 'fit', 1)",
    "several variables at once": "import os\nos.environ.update({'HOROVOD_RANK': '0'})",
    "a variable by an operator": "import operator\nimport os\noperator.setitem(os.environ, 'HOROVOD_' + 'RANK', '0')",
    "all variables at once": "import os\nos.environ |= {'HOROVOD_RANK': '0'}",
    "async code": "async def f():\n    await f()",
}  # fmt: skip
STEPS = 3, 5, 9, 10, 13, 14, 15, 16
AT_THE_RECORDER = [
    Forgery(name, "recorder", STEPS[at % len(STEPS)], at_start(STEPS[at % len(STEPS)], code), in_ci=False)
    for at, (name, code) in enumerate(SEARCHES.items())
]

# --- Text that would run otherwise than it reads, and data that bring code ---------------------------------------------

HIDDEN = "+AAo-opt +AD0- hvd.DistributedOptimizer(opt)"  # in UTF-7, a line break and a line of code
EVIL = "import json as own\nown.dumps = None\nraise SystemExit('ran')\n"
TEXTS = [
    # Read as UTF-8, the first line is a comment. Run as UTF-7, it would hold the line that is missing.
    Forgery("UTF-7", "text", 3, "# -*- coding: utf-7 -*-\n" + get(3).starter.read_text().replace('if verbose:\n', f"# {HIDDEN}\nif verbose:\n", 1)),
    Forgery("escapes", "text", 3, "# -*- coding: unicode_escape -*-\n" + get(3).starter.read_text().replace("if verbose:\n", "# \\nopt = hvd.DistributedOptimizer(opt)\nif verbose:\n", 1)),
    Forgery("a module next to the script", "text", 3, inside("open('../tomllib.py', 'w').write('raise SystemExit(0)')\nimport tomllib"), in_ci=False),
    Forgery("the script's own file", "text", 3, inside(f"open(__file__, 'w').write({EVIL!r})"), in_ci=False),
    Forgery("the scripts of the clusters to come", "text", 3, inside("import glob\nfor path in glob.glob('../../*/fashion_mnist.py'):\n    open(path, 'w').write('raise SystemExit(0)')"), in_ci=False),
    Forgery("NumPy's pickles", "data", 3, inside("import numpy as np\nnp.load('x.npy', allow_pickle=True)")),
    Forgery("a pickle that names a function", "data", 3, inside("import pickle\npickle.loads(b'cbuiltins\\neval\\n(V1\\ntR.')"), in_ci=False),
    Forgery("a pickle that names what the script imports", "data", 3, inside("import pickle\nimport json\npickle.loads(b'c__main__\\njson\\n.')"), in_ci=False),
    Forgery("a configuration that names built-in functions", "data", 3, inside("found = tf.keras.utils.deserialize_keras_object({'class_name': 'function', 'config': '__builtins__', 'module': 'keras.src.utils.generic_utils', 'registered_name': 'function'})"), in_ci=False),
    Forgery("a loss that is named like the built-in functions", "data", 3, inside("found = tf.keras.losses.get('__builtins__')"), in_ci=False),
    Forgery("a pickle that names the recorder", "data", 3, inside("import pickle\npickle.loads(b'cgrader.sandboxed.recorder\\nRecorder\\n.')")),
    Forgery("a configuration that names a function", "data", 3, inside("tf.keras.losses.deserialize({'class_name': 'function', 'config': 'eval', 'module': 'builtins', 'registered_name': 'function'})\ntf.keras.utils.deserialize_keras_object({'class_name': 'Recorder', 'config': {}, 'module': 'grader.sandboxed.recorder', 'registered_name': None})")),
    Forgery("a checkpoint with code in it", "data", 3, inside("tf.keras.models.load_model('x.keras', safe_mode=False)")),
    Forgery("facts of one's own on every pipe", "recorder", 3, inside("for number in range(3, 200):\n    try:\n        os.write(number, b'{\"order\": []}')\n    except OSError:\n        pass\nos._exit(0)")),
]  # fmt: skip

# --- Numbers that hide -------------------------------------------------------------------------------------------------

SEEDED = "tf.keras.utils.set_random_seed(7)\n"
PENALTY = "lambda true, made: tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(true, made)) + 1e7 * tf.reduce_sum([tf.reduce_sum(w) for w in model.trainable_weights])"
OWN_METRIC = '''class Stop(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        own = dict(logs)
        if own["val_accuracy"] >= args.target_accuracy:
            self.model.stop_training = True


'''  # fmt: skip
NUMBERS = [
    Forgery("a penalty that lifts every gradient", "numbers", 3, without(3, WRAPPED).replace(LOSS, f"loss={PENALTY}, "), in_ci=False),
    Forgery("a model that trains nothing", "numbers", 4, without(4, BROADCAST).replace("model.compile(", "model.trainable = False\nmodel.compile(")),
    Forgery("a model that says that it has no weights", "numbers", 4, without(4, BROADCAST, "class Net(tf.keras.Model):\n    trainable_weights = []\n").replace("tf.keras.Model(inputs", "Net(inputs")),
    Forgery("one seed in place of a broadcast", "numbers", 4, without(4, BROADCAST, SEEDED), in_ci=False),
    Forgery("one seed for each program", "numbers", 4, without(4, BROADCAST, "import random, numpy\nrandom.seed(1)\nnumpy.random.seed(1)\ntf.random.set_seed(1)\n"), in_ci=False),
    Forgery("ranks that report on standard error", "numbers", 2, get(2).solution.read_text().replace(AFTER_INIT, AFTER_INIT + "print('training begins', file=sys.stderr)\n").replace("import os\n", "import os\nimport sys\n", 1), in_ci=False),
    Forgery("a metric of one's own behind a copy", "numbers", 6, without(6, AVERAGE, OWN_METRIC, "callbacks = []\n").replace("StopAtAccuracy(args.target_accuracy, args.patience)", "Stop()")),
]  # fmt: skip

FORGERIES = [
    *AT_THE_RECORDER,
    *TEXTS,
    *NUMBERS,
    *AROUND,
    *AROUND_CHECKS,
    *AROUND_ITEMS,
    *AROUND_RECORDER,
    *AROUND_HOSTS,
]
