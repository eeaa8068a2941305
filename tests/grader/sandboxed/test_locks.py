"""Data bring no code: a process that closes the ways for it keeps plain values, and nothing else."""

import json
import os
import subprocess
import sys

import pytest

from course.steps import ROOT

KEPT = """
values = {"epoch": 3, "weights": [np.ones(3), np.float32(2)], "names": {"a", "b"}}
assert pickle.loads(pickle.dumps(values))["names"] == values["names"]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, "relu6", input_shape=(2,))])
model.compile("sgd", "mse")
for name in ("a.h5", "a.keras"):
    model.save(name)
    model = tf.keras.models.load_model(name)
"""
REFUSED = {
    "pickle.loads(b'cbuiltins\\neval\\n(V1\\ntR.')": "UnpicklingError: A pickle names builtins.eval",
    "pickle.loads(b'cos\\nsystem\\n(Vtrue\\ntR.')": "UnpicklingError: A pickle names os.system",
    "pickle.loads(b'\\x80\\x04\\x8c\\x08__main__\\x8c\\x0btf.function\\x93.')": (
        "UnpicklingError: A pickle names __main__.tf.function"
    ),
    "tf.keras.utils.deserialize_keras_object({'class_name': 'function', 'config': 'system', 'module': 'os', "
    "'registered_name': 'function'})": "CodeInDataError: A configuration names something in the module os",
    "pickle.loads(b\"cpathlib\\nPosixPath\\n(N(S'rglob'\\nNdtb.\")": (
        "UnpicklingError: A pickle gives attributes to a class or a function"
    ),
    "import cloudpickle\ncloudpickle.loads(b\"cpathlib\\nPosixPath\\n(N(S'rglob'\\nNdtb.\")": (
        "UnpicklingError: A pickle gives attributes to a class or a function"
    ),
    "import string\nstring.Formatter().format('{0.real}', 1)": "ValueError: A format reads 0.real",
    "pickle.loads(TO_ANY_ADDRESS)": "UnpicklingError: A pickle makes a data type of its own",
    "pickle.loads(COUNTED_OBJECTS_NOT)": "UnpicklingError: A pickle makes a data type of its own",
    "tf.keras.utils.deserialize_keras_object({'class_name': 'function', 'config': 'LazyLoader', "
    "'module': 'keras.src.utils.generic_utils', 'registered_name': 'function'})": (
        "TypeError: Could not locate function 'LazyLoader'"
    ),
    "layer = tf.keras.layers.Lambda(lambda x: x)\ntf.keras.layers.Lambda.from_config(layer.get_config())": (
        "CodeInDataError: A model brings code with it"
    ),
}
RUN = """
import json, pickle, sys
import numpy as np
import tensorflow as tf
from grader.sandboxed import locks
locks.close()


class Made:
    def __init__(self, *state):
        self.state = state

    def __reduce__(self):
        return np.dtype, ("V8",), self.state


TO_ANY_ADDRESS = pickle.dumps(Made(3, "|", None, ("f0",), {"f0": (np.dtype("u8"), 2**40)}, 8, 1, 0))
COUNTED_OBJECTS_NOT = pickle.dumps(Made(3, "|", None, ("f0",), {"f0": (np.dtype("O"), 0)}, 8, 1, 0))
said = {}
for code in json.load(sys.stdin):
    try:
        exec(code)
        said[code] = ""
    except Exception as error:
        said[code] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a process with closed ways says of each piece of code: its error, or nothing."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps([KEPT, *REFUSED]),
        cwd=tmp_path_factory.mktemp("models"),
        capture_output=True,
        text=True,
        env=environment,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_plain_values_and_keras_own_layers_come_back(said):
    assert said[KEPT] == ""


@pytest.mark.parametrize("code", REFUSED)
def test_what_names_a_function_or_brings_code_does_not(said, code):
    assert said[code].startswith(REFUSED[code])
