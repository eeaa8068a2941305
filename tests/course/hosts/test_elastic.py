"""solutions/hosts/fashion_mnist_elastic.py on hosts that really die and come back."""

import csv
import itertools
import re

import pytest

from course import hosts
from course.steps import SOLUTIONS

IMAGES, EPOCHS = 2000, 14
PROGRAM = (
    f"{SOLUTIONS}/hosts/fashion_mnist_elastic.py --epochs {EPOCHS} --batch-size 8 --train-samples {IMAGES} "
    "--log-dir /shared/logs"
)
LAUNCH = (
    "horovodrun --gloo -np 2 --min-np 1 --max-np 3 --network-interfaces eth0 "
    f"--host-discovery-script {SOLUTIONS}/hosts/discover.sh"
)


@pytest.mark.slow
def test_hosts_come_and_go_and_no_image_is_lost_or_counted_twice(leftovers):
    with hosts.up(3, slots=1) as cluster:
        cluster.kill("node3")
        events = [
            (r"^Epoch 1/", lambda: cluster.kill("node2")),
            (r"^1 ranks", lambda: cluster.revive("node3")),
        ]

        def say(line):
            if events and re.search(events[0][0], line.partition(":")[2]):
                events.pop(0)[1]()

        done = cluster.run(f"{LAUNCH} python {PROGRAM}".split(), say=say, timeout=600)
        assert done.returncode == 0, done.stdout
        rows = list(csv.reader((cluster.shared / "logs" / "commits.csv").read_text().splitlines()))
        assert (cluster.shared / "logs" / "model.keras").is_file()
    begun = re.findall(r"(\d) ranks, learning rate ([\d.]+):", done.stdout)
    assert begun == [("2", "0.04"), ("1", "0.02"), ("2", "0.04")], done.stdout
    commits = [(int(epoch), int(seen)) for _, _, epoch, seen, _ in rows]
    assert commits == sorted(set(commits)), "a commit that was made is not made again"
    for epoch, of_epoch in itertools.groupby(commits, key=lambda commit: commit[0]):
        assert list(of_epoch)[-1] == (epoch, IMAGES)
    assert commits[-1][0] == EPOCHS - 1
    losses = [float(loss) for *_, loss in rows]
    assert sum(losses[-10:]) < sum(losses[:10]) / 2
    assert leftovers() == []
