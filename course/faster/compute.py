"""Measure the computation of a training step alone, with two settings in turn, in pairs.

This file is also the program that computes: python -m course.faster.compute ARGUMENTS, those of main() as JSON
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence

from course import launch
from course.faster.pairs import Pair

STEPS = 4  # of which the fastest counts


def precision(times: int = 2) -> list[Pair]:
    """Return the seconds of a step in float32 and in mixed_bfloat16, in pairs.

    Raises:
        RuntimeError: a program failed, and the message has its output.
    """
    found = _seconds([], ["float32", "mixed_bfloat16"] * times)
    return [Pair(*pair) for pair in zip(found[::2], found[1::2], strict=True)]


def binding(times: int = 2) -> list[Pair]:
    """Return the seconds of a step of one rank that is bound to a core, and of one that is not, in pairs.

    Raises:
        RuntimeError: a program failed, and the message has its output.
    """
    found = [_seconds(["--bind-to", kind], ["float32"])[0] for _ in range(times) for kind in ("core", "none")]
    return [Pair(*pair) for pair in zip(found[::2], found[1::2], strict=True)]


def _seconds(options: Sequence[str], policies: Sequence[str]) -> list[float]:
    """Return the seconds of a step with each of these policies of Keras, on one rank under mpirun."""
    program = [sys.executable, "-m", "course.faster.compute", json.dumps({"policies": policies})]
    done = subprocess.run(
        ["mpirun", "-np", "1", *options, *program],
        env=launch.environment(1),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The computation failed:\n{done.stdout}{done.stderr}"[-3000:])
    return list(json.loads(done.stdout.splitlines()[-1]))


def main(policies: Sequence[str]) -> None:
    """Print the seconds of a step with each of these policies as JSON."""
    import tensorflow as tf

    images, labels = tf.random.normal((64, 28, 28, 16)), tf.zeros(64, tf.int32)
    seconds = []
    for policy in policies:
        tf.keras.mixed_precision.set_global_policy(policy)
        model = tf.keras.Sequential(
            [
                *(tf.keras.layers.Conv2D(64, 3, padding="same", activation="relu") for _ in range(3)),
                tf.keras.layers.GlobalAveragePooling2D(),
                tf.keras.layers.Dense(10, activation="softmax", dtype="float32"),
            ]
        )
        model.compile("sgd", "sparse_categorical_crossentropy")
        taken = []
        for _ in range(1 + STEPS):
            began = time.perf_counter()
            model.train_on_batch(images, labels)
            taken.append(time.perf_counter() - began)
        seconds.append(min(taken[1:]))
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
