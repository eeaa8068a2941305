"""What observe sees from outside: processes, what a step costs, and how a training ends; and its figures."""

import pytest

from course import figures, hosts
from course.hosts import observe


@pytest.fixture(scope="module")
def cluster():
    with hosts.up(2, slots=1, rate="8mbit") as started:
        yield started


def test_a_process_comes_after_its_parent(cluster):
    nested = cluster.start(["sh", "-c", "sh -c 'echo up; tail -f /cluster/hostfile; true'; true"], "node2")
    try:
        for _ in range(3):
            nested.output.readline()
        (whole,) = (of for host, of in observe.tree(cluster).items() if host == "node2")
        assert [depth for depth, _ in whole] == [0, 1, 2] and whole[2][1] == "tail -f hostfile"
    finally:
        nested.close()


def test_a_step_costs_what_the_program_and_the_interfaces_say(cluster):
    train = "echo Epoch 1/1; head -c 3000000 /dev/zero | ssh node1 cat '>' /dev/null; echo; echo Epoch 1: 50 images/sec"
    cost = observe.step_cost(cluster, train, images=100, steps=4)
    assert cost.seconds == 0.5  # 100 images in 4 steps
    assert 400_000 < cost.received["eth0"] < 1_000_000 and cost.received["eth1"] < 10_000
    left, right = figures.step_costs({"8mbit": cost}).axes
    assert [bar.get_height() for bar in left.patches] == [500]
    shown = [bar.get_height() for bar in right.patches]
    assert shown == pytest.approx([cost.received[name] / 1e6 for name in ("eth0", "eth1")])


def test_a_training_that_fails_has_no_cost(cluster):
    with pytest.raises(hosts.HostsError, match="could not be measured:\nno images"):
        observe.step_cost(cluster, "echo no images; exit 1", images=1, steps=1)


def test_the_cable_is_pulled_in_the_second_epoch_and_plugged_in_again(cluster):
    by_itself = "echo Epoch 1/9; echo Epoch 2/9; while timeout 1 ssh node2 true; do :; done; echo gone; exit 1"
    ended = observe.after_a_pull(cluster, by_itself, "node2", timeout=60)
    assert (ended.by_itself, ended.printed) == (True, ["gone"]) and ended.seconds < 60
    assert cluster.run(["ssh", "node2", "true"]).returncode == 0
    hangs = observe.after_a_pull(cluster, "echo Epoch 2/9; cat /dev/zero > /dev/null", "node2", timeout=2)
    assert not hangs.by_itself and hangs.printed == []
    (ax,) = figures.after_a_pull({"one": ended, "other": hangs}).axes
    said = " ".join(text.get_text() for text in ax.texts)
    assert "ends by itself" in said and "says nothing; we ended it" in said
    with pytest.raises(hosts.HostsError, match="no second epoch:\nEpoch 1/1"):
        observe.after_a_pull(cluster, "echo Epoch 1/1", "node2", timeout=60)


def test_a_command_line_is_printed_as_it_is_typed(cluster, capsys):
    assert cluster.shell("hostname; exit 4", on="node1").returncode == 4
    assert capsys.readouterr().out == "node1$ hostname; exit 4\nnode1\n"


def test_figures_show_each_host():
    drawn = figures.process_tree({"head": [(0, "mpirun"), (1, "ssh node1")], "node1": [(0, "python train.py")]})
    texts = [text.get_text() for text in drawn.axes[0].texts]
    assert {"head", "node1", "mpirun", "ssh node1", "python train.py"} <= set(texts)
    assert any("node2" in text.get_text() for text in figures.hosts().axes[0].texts)
