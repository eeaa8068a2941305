"""The programs of a cluster with parameter servers: their tasks, sharded variables, and recovery from kills."""

import os
import re
import subprocess
import sys

import pytest

from course import cluster, data, figures, steps, tf_config
from course.record.records import Epoch, Record

PROGRAMS = steps.SOLUTIONS / "parameter_server"
TWO = {"chief": ["127.0.0.1:40001"], "ps": ["127.0.0.1:40002"]}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A folder of 20 images per class to train on, and 5 to evaluate on."""
    folder = tmp_path_factory.mktemp("images")
    data.folders(folder, 20, 5)
    return folder


@pytest.fixture
def flags(images, tmp_path):
    """The coordinator's flags, and the evaluator's: a narrow network, two epochs of ten steps."""
    small = {"classes": 10, "image_size": 32, "alpha": 0.35, "batch_size": 20, "epochs": 2}
    return small | {"data_dir": images, "log_dir": tmp_path / "logs"}


def serve(tasks):
    """Start all servers of a cluster."""
    for kind, index in list(tasks.tasks):
        if kind in ("ps", "worker"):
            tasks.start(kind, index, PROGRAMS / "worker_and_ps.py")


def epochs_begun(task):
    return [int(found[1]) for _, text in task.lines if (found := re.match(r"Epoch (\d+)/\d+$", text))]


@pytest.mark.parametrize(
    ("program", "config", "said"),
    [
        ("worker_and_ps", None, "This serves as a worker or a ps. TF_CONFIG says that it is: None."),
        ("worker_and_ps", ("chief", 0), "TF_CONFIG says that it is: chief."),
        ("coordinator", ("ps", 0), "The coordinator is the chief of a cluster. TF_CONFIG says that this is: ps."),
        ("evaluator", ("chief", 0), "This is the evaluator's program. TF_CONFIG says that this process is: chief."),
    ],
)
def test_a_program_refuses_another_one_s_task(program, config, said):
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    if config:
        environment["TF_CONFIG"] = tf_config.make(TWO, *config)
    ran = subprocess.run(
        [sys.executable, PROGRAMS / f"{program}.py"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 1 and ran.stderr.strip().endswith(said) and "Traceback" not in ran.stderr


def test_images_come_with_the_number_of_their_class(images):
    from course import mobilenet

    assert mobilenet.count(images / "train") == 200
    read = list(mobilenet.images(images / "val", 32, shuffle=False))
    assert [int(label) for _, label in read] == [number // 5 for number in range(50)]
    pixels, _ = read[0]
    assert pixels.shape == (32, 32, 3) and 128 < float(pixels.numpy().max()) <= 255


def test_only_the_large_dense_layer_is_sharded():
    import tensorflow as tf

    from course import mobilenet

    partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(256 << 10, max_shards=2)
    weights = mobilenet.network(32, 10, 0.35).weights
    shards = [(weight.shape.as_list(), partitioner(weight.shape, weight.dtype)[0]) for weight in weights]
    assert [(shape, count) for shape, count in shards if count > 1] == [([1280, 512], 2)]


def test_figures_show_what_was_measured():
    placed = [("dense/kernel/part_0", [640, 512], 1), ("dense/kernel/part_1", [640, 512], 0), ("bias", [10], 0)]
    (ax,) = figures.variables(placed).axes
    assert [bar.get_width() for bar in ax.patches] == [1280, 1280, 10 * 4 / 1024]
    record = Record(0, 1, epochs=[Epoch(start=0)], worker_steps=[(0, 1, 2), (1, 1, 3), (0, 2, 4), (1, 8, 9)])
    (ax,) = figures.worker_steps(record, began=0, killed=(1, 3.5, 5)).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["worker 0: 2 steps", "worker 1: 2 steps"]
    assert len(figures.roles(ps=3, workers=1).axes[0].patches) > 6


@pytest.mark.slow
def test_training_survives_a_killed_worker_and_checkpoints_are_evaluated(flags, leftovers):
    flags["epochs"] = 3
    with cluster.Cluster(chief=1, ps=1, worker=2) as tasks:
        serve(tasks)
        chief = tasks.start("chief", 0, PROGRAMS / "coordinator.py", **flags)
        evaluator = tasks.start("evaluator", 0, PROGRAMS / "evaluator.py", **flags)
        tasks.await_line(chief, lambda text: text.startswith("Epoch 2/"))
        tasks.kill(tasks.tasks["worker", 1])
        tasks.start("worker", 1, PROGRAMS / "worker_and_ps.py")
        tasks.wait()
        (record,) = tasks.watched()
    assert chief.exit == evaluator.exit == 0 and epochs_begun(chief) == [1, 2, 3]
    assert {worker for worker, _, _ in record.worker_steps} == {0, 1}
    logs = flags["log_dir"]
    assert (logs / "model.keras").is_file() and not list((logs / "backup").glob("*"))
    scored = [text for _, text in evaluator.lines if re.match(r"\d+/\d+ - .* - loss: \d", text)]
    assert 1 <= len(scored) <= 3  # it skips checkpoints that appear while it is busy
    (ax,) = figures.evaluated(logs, steps_per_epoch=10).axes
    trained, evaluated = (line.get_xdata() for line in ax.lines)
    # The killed worker's step is done again, and counts twice if it had changed the weights already.
    assert list(trained) == [1, 2, 3] and evaluated[-1] in (3, 3.1)
    assert leftovers() == []


@pytest.mark.slow
def test_a_killed_parameter_server_ends_the_training_which_resumes_from_the_backup(flags, leftovers):
    with cluster.Cluster(chief=1, ps=2, worker=2) as tasks:
        serve(tasks)
        chief = tasks.start("chief", 0, PROGRAMS / "coordinator.py", **flags)
        tasks.await_line(chief, lambda text: text.startswith("Epoch 2/"))
        tasks.kill(tasks.tasks["ps", 1])
        tasks.await_end(chief, timeout=120)
        assert chief.exit == 1 and epochs_begun(chief) == [1, 2]
        tasks.start("ps", 1, PROGRAMS / "worker_and_ps.py")
        tasks.start("chief", 0, PROGRAMS / "coordinator.py", **flags)
        tasks.wait()
    assert chief.exit == 0 and epochs_begun(chief) == [1, 2, 2]
    assert leftovers() == []
