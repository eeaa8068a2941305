"""solutions/hosts/fashion_mnist_elastic.py on hosts that really die and join, launched by launch_elastic.sh."""

import itertools
import re
from statistics import mean

import pytest

from course import hosts
from course.hosts.elastic import Commit, Event, commits, train
from course.steps import SOLUTIONS

IMAGES, EPOCHS = 2000, 16
PROGRAM = (
    f"python {SOLUTIONS}/hosts/fashion_mnist_elastic.py --epochs {EPOCHS} --batch-size 8 --train-samples {IMAGES} "
    "--log-dir /shared/logs"
)
LAUNCH = (
    f"bash {SOLUTIONS}/hosts/launch_elastic.sh /cluster/hostfile -np 2 --min-np 1 --max-np 3 --network-interfaces eth0"
)


@pytest.mark.slow
def test_hosts_come_and_go_and_no_image_is_lost_or_counted_twice(leftovers):
    with hosts.up(3, slots=1) as cluster:
        cluster.kill("node3")
        events = [
            Event(lambda commit: commit.seen < IMAGES, "revive", "node3"),
            Event(lambda commit: commit.ranks == 3 and commit.seen < IMAGES, "kill", "node2"),
        ]
        done = train(cluster, f"{LAUNCH} {PROGRAM}", cluster.shared / "logs", events, say=print, timeout=600)
        assert done.status == 0, done.printed
        assert (cluster.shared / "logs" / "model.keras").is_file()
    assert [event for _, event in done.happened] == events
    assert "launch_elastic.sh: node2 does not answer" in done.printed
    assert "launch_elastic.sh: node3 answers now" in done.printed
    begun = re.findall(r"Size (\d), learning rate ([\d.]+):", done.printed)
    assert begun == [("2", "0.02"), ("3", "0.03"), ("2", "0.02")], done.printed
    places = [(commit.epoch, commit.seen) for commit in done.commits]
    assert places == sorted(set(places)), "a commit that was made is not made again"
    for epoch, of_epoch in itertools.groupby(places, key=lambda place: place[0]):
        assert list(of_epoch)[-1] == (epoch, IMAGES)
    assert places[-1][0] == EPOCHS - 1
    losses = [commit.loss for commit in done.commits]
    assert mean(losses[-20:]) < 0.7 * mean(losses[:10])
    assert leftovers() == []


def test_a_line_that_is_being_written_is_not_read(tmp_path):
    assert commits(tmp_path) == []
    (tmp_path / "commits.csv").write_text("1.5,2,0,320,0.25\n2.5,2,0,6")
    assert commits(tmp_path) == [Commit(1.5, 2, 0, 320, 0.25)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "give it a hostfile and the arguments of horovodrun"),
        ("/cluster/missing -np 1 true", "the hostfile /cluster/missing cannot be read"),
    ],
)
def test_a_bad_call_is_explained(arguments, says):
    with hosts.up(1) as cluster:
        done = cluster.run(["bash", f"{SOLUTIONS}/hosts/launch_elastic.sh", *arguments.split()], timeout=60)
    assert done.returncode == 1 and says in done.stdout


def test_without_a_host_that_answers_there_is_no_training():
    with hosts.up(["ada"], slots=1) as cluster:
        cluster.kill("ada")
        command = f"bash {SOLUTIONS}/hosts/launch_elastic.sh /cluster/hostfile -np 1 true"
        done = cluster.run(command.split(), timeout=60)
    assert done.returncode == 1 and "no host of /cluster/hostfile answers" in done.stdout
