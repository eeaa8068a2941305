"""The sandbox of steps 1 to 16, for root and for an ordinary user: what is in there, and what can be written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.exchange.default import Exchange

from course.steps import ROOT
from grader.sandbox import policy
from tests.course.hosts.ordinary import as_ordinary_user

# Prints, as JSON, for each folder an error's name or how many MiB can be written there, and what lies in /usr/local.
INSIDE = """
import json, os, sys
from pathlib import Path
from course import data
from grader.sandbox import policy

def most(folder):
    written = 0
    try:
        with open(f"{folder}/large", "wb") as file:
            while written < 640:
                file.write(bytes(2**20))
                file.flush()
                written += 1
    except OSError as error:
        return written or type(error).__name__
    return written

with policy.made(Path(data.SHIPPED)) as process:
    told, tell = os.pipe()
    if os.fork() == 0:
        policy.go_inside(process)
        found = {folder: most(folder) for folder in sys.argv[1:]}
        os.write(tell, json.dumps([found, os.listdir("/usr/local")]).encode())
        os._exit(0)
    os.close(tell)
    print(os.fdopen(told).read())
"""
CLOSED = "/", "/dev", "/root", "/usr", "/home"


@pytest.mark.parametrize("of", [list, lambda command: as_ordinary_user(*command)], ids=["root", "an ordinary user"])
def test_little_can_be_written_and_nothing_that_a_class_hands_in_is_there(of):
    command = of([sys.executable, "-c", INSIDE, *CLOSED, "/tmp"])
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written, shown = json.loads(done.stdout)
    allowed = written.pop("/tmp")
    assert 0 < allowed <= policy.WRITABLE / 2**20
    assert set(written) == set(CLOSED) and not [folder for folder, most in written.items() if isinstance(most, int)]
    assert "share" not in shown


def test_the_exchange_of_nbgrader_lies_below_nothing_that_is_shown():
    exchange = Path(Exchange().root)
    assert exchange.is_relative_to("/usr/local")
    assert not [path for path in policy.system() if exchange.is_relative_to(path)]
