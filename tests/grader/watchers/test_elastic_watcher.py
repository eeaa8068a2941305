"""What a watcher reads off the model and the log that an elastic training leaves."""

import os
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import pytest
import tensorflow as tf
from horovod.common.exceptions import HorovodInternalError

from grader.checks.elastic import NEAR
from grader.terms.watched_facts import ElasticFacts, Logged
from grader.watchers import elastic_rank, elastic_watcher


def save(path, *layers):
    """Write weights as Keras does."""
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        for number, weights in enumerate(layers):
            file[f"layers/dense_{number}/vars/0"] = weights
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(path.with_suffix(".h5"), "model.weights.h5")


def trained(images, batches, rate, momentum=elastic_watcher.MOMENTUM):
    """Return the weights of the hidden layer after training on batches, each a list of numbers of images."""
    inputs = np.zeros((elastic_watcher.IMAGES, 28 * 28), np.float32)
    np.put_along_axis(inputs, images.pixels, 1, axis=1)
    hidden, output = images.hidden.copy(), images.output.copy()
    speeds = [np.zeros_like(hidden), np.zeros_like(output)]
    for batch in batches:
        layer = np.maximum(inputs[batch] @ hidden, 0)
        error = np.exp(layer @ output)
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(batch)), images.labels[batch]] -= 1
        error *= rate / len(batch)
        back = (error @ output.T) * (layer > 0)
        for speed, gradient in zip(speeds, (inputs[batch].T @ back, layer.T @ error), strict=True):
            speed *= momentum
            speed -= gradient
        hidden += speeds[0]
        output += speeds[1]
    return hidden


def look(images, path):
    """Return what the weights of a saved model show."""
    facts = ElasticFacts()
    images.look(path, facts)
    return facts


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_weights_say_how_often_each_image_was_used(ranks, tmp_path):
    images = elastic_watcher._Images()
    order = np.random.default_rng(0).permutation(elastic_watcher.IMAGES)
    size = ranks * elastic_watcher.BATCH
    batches = [order[start : start + size] for start in range(0, elastic_watcher.IMAGES, size)]
    again = batches[: 24 // ranks]
    save(tmp_path / "model", trained(images, [*batches, *again], ranks * elastic_watcher.RATE), images.output)
    twice = set(np.concatenate(again))
    expected = [2 if image in twice else 1 for image in range(elastic_watcher.IMAGES)]
    facts = look(images, tmp_path / "model")
    assert facts.uses == pytest.approx(expected, abs=0.11) and not facts.astray


def test_a_rate_that_does_not_fit_the_size_is_seen(tmp_path):
    images = elastic_watcher._Images()
    batches = np.arange(elastic_watcher.IMAGES).reshape(-1, 3 * elastic_watcher.BATCH)
    save(tmp_path / "model", trained(images, batches, 2 * elastic_watcher.RATE), images.output)
    facts = look(images, tmp_path / "model")
    assert facts.uses == pytest.approx([2 / 3] * elastic_watcher.IMAGES, abs=0.11) and not facts.astray


def test_a_training_without_momentum_is_seen(tmp_path):
    images = elastic_watcher._Images()
    batches = np.arange(elastic_watcher.IMAGES).reshape(-1, elastic_watcher.BATCH)
    save(tmp_path / "model", trained(images, [*batches, *batches], elastic_watcher.RATE, momentum=0), images.output)
    assert max(look(images, tmp_path / "model").uses) < 2 - NEAR


def test_images_of_a_rank_with_weights_of_its_own_are_seen(tmp_path):
    images, others = elastic_watcher._Images(), elastic_watcher._Images()
    others.pixels, others.labels = images.pixels, images.labels
    batches = np.arange(elastic_watcher.IMAGES).reshape(-1, 3 * elastic_watcher.BATCH)
    own = [
        trained(each, [batch[at] for batch in batches], 3 * elastic_watcher.RATE) - each.hidden
        for each, at in ((images, slice(0, 8)), (others, slice(8, None)))
    ]
    save(tmp_path / "model", images.hidden + own[0] + own[1], images.output)
    assert look(images, tmp_path / "model").astray == elastic_watcher.IMAGES // 3


def test_what_is_no_model_of_this_kind_is_refused(tmp_path):
    images = elastic_watcher._Images()
    (tmp_path / "text").write_text("no archive")
    save(tmp_path / "other", images.output)
    save(tmp_path / "two", images.hidden, images.hidden)
    save(tmp_path / "broken", np.full_like(images.hidden, np.nan))
    for name in ("none", "text", "other", "two", "broken"):
        with pytest.raises((OSError, ValueError, zipfile.BadZipFile)):
            look(images, tmp_path / name)


def test_lines_of_another_form_are_not_read(tmp_path):
    log = tmp_path / "commits.csv"
    assert elastic_watcher.commits(log) == []
    log.write_bytes(b"1.5,2,0,8,0.5\n1.6,2,0,-1,0.5\n1.7,3,1,16,nan\nfree text\n1.8,3,1,24,0.1\n")
    assert elastic_watcher.commits(log) == [Logged(2, 0, 8), Logged(3, 1, 16)]


def test_the_host_that_dies_is_that_of_rank_0():
    situation = elastic_watcher.SITUATIONS["dies"]
    number = "import sys; from horovod.runner.elastic.discovery import HostManager as manager;"
    number += "print(*manager.order_available_hosts({*sys.argv[1:]}, []))"
    command = [sys.executable, "-c", number, *situation.slots]
    variables = {**os.environ, "PYTHONHASHSEED": elastic_watcher.HASH_SEED}
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert ran.stdout.split()[0] == situation.dies


@pytest.mark.parametrize(("rank", "given"), [("0", ["--weights", "a file"]), ("1", [])])
def test_rank_0_alone_has_the_weights(rank, given, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""import sys
import horovod.keras.elastic
import horovod.tensorflow as hvd
print(sys.argv, sys.path[0], __name__)
print(horovod.keras.elastic.run is hvd.elastic.run, hvd.elastic.run.__module__)
""")
    command = [sys.executable, elastic_watcher.TRAINING, str(program), "--epochs", "2", "--weights", "a file"]
    variables = {**os.environ, "HOROVOD_RANK": rank}
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    said = f"{[str(program), '--epochs', '2', *given]} {tmp_path} __main__\nTrue __main__\n"
    assert ran.stdout.endswith(said), ran.stderr


def test_a_program_has_to_recognise_the_errors_of_an_allreduce(monkeypatch):
    monkeypatch.setattr(elastic_rank, "run_fn", lambda function, reset: function)

    @elastic_rank.run
    def fail(operation):
        raise tf.errors.UnknownError(None, None, f"{operation} has been shut down")

    assert fail("HorovodAllreduce") is None  # as Horovod does with other errors of this class
    with pytest.raises(HorovodInternalError):
        fail("HorovodAllgather")
