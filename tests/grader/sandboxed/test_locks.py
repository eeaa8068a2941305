"""Data bring no code: a process that closes the ways for it keeps plain values, and nothing else."""

import os
import subprocess
import sys
import textwrap

import pytest

from course.steps import ROOT

CLOSED = "import pickle, numpy as np, tensorflow as tf\nfrom grader.sandboxed import locks\nlocks.close()\n"


def run(code):
    """Return what a process with closed ways prints to both of its streams."""
    command = [sys.executable, "-c", CLOSED + textwrap.dedent(code)]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    return done.stdout + done.stderr


def test_plain_values_and_keras_own_layers_come_back(tmp_path):
    said = run(
        f"""
        values = {{"epoch": 3, "weights": [np.ones(3), np.float32(2)], "names": {{"a", "b"}}}}
        back = pickle.loads(pickle.dumps(values))
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse")
        for name in ("a.h5", "a.keras"):
            model.save(f"{tmp_path}/{{name}}")
            model = tf.keras.models.load_model(f"{tmp_path}/{{name}}")
        print(back["names"] == values["names"], len(model.layers))
        """
    )
    assert said.startswith("True 1\n")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("pickle.loads(b'cbuiltins\\neval\\n(V1\\ntR.')", "UnpicklingError: A pickle names builtins.eval"),
        ("pickle.loads(b'cos\\nsystem\\n(Vtrue\\ntR.')", "UnpicklingError: A pickle names os.system"),
        ("pickle.loads(b'\\x80\\x04\\x8c\\x08__main__\\x8c\\x0btf.function\\x93.')", "UnpicklingError"),
        (
            "tf.keras.utils.deserialize_keras_object("
            "{'class_name': 'function', 'config': 'system', 'module': 'os', 'registered_name': 'function'})",
            "CodeInDataError: A configuration names something in the module os",
        ),
        (
            "layer = tf.keras.layers.Lambda(lambda x: x)\ntf.keras.layers.Lambda.from_config(layer.get_config())",
            "CodeInDataError: A model brings code with it",
        ),
    ],
)
def test_what_names_a_function_or_brings_code_does_not(code, error):
    assert error in run(code)
