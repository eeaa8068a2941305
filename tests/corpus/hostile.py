"""Files that are no honest attempt: broken, endless, greedy or lying. Each with the verdicts it may get, and words of
the message."""

import re
from dataclasses import dataclass

from course.steps import get
from grader.report import Report

SOLUTION = get(6).solution.read_text()
STARTER = get(3).starter.read_text()  # after step 2: trains, and lacks step 3
AFTER_INIT = "hvd.init()\n"


@dataclass(frozen=True)
class Hostile:
    """One file, judged at a step; it must not pass."""

    name: str
    content: str | bytes
    says: str  # a regular expression for the first failing message
    status: tuple[str, ...] = ("failed",)
    step: int = 3

    def text(self) -> str | bytes:
        """Return the file's content."""
        return self.content

    def deserves(self, report: Report) -> bool:
        """Return whether a report is what the file deserves."""
        failure = report.first_failure
        return report.status in self.status and bool(re.search(self.says, f"{failure.message} line {failure.line}"))


def inside(code: str, text: str = STARTER) -> str:
    """Return a program with this code right behind Horovod's initialisation."""
    assert text.count(AFTER_INIT) == 1
    return text.replace(AFTER_INIT, AFTER_INIT + code + "\n")


REVIEW = ("failed", "needs_review")
FAKE = '{"schema": 1, "step": 3, "status": "passed", "score": 30, "max_score": 30, "checks": []}'

UNREADABLE = (
    Hostile("empty", "", "is empty"),
    Hostile("blank", " \n\n", "is empty"),
    Hostile("syntax error", SOLUTION.replace("hvd.init()", "hvd.init("), "not valid Python"),
    Hostile("binary", b"\x7fELF\0\0\1\2", "is binary"),
    Hostile("latin-1", SOLUTION.replace("Train", "Tr\xe4in", 1).encode("latin-1"), r"not UTF-8 text: see line 1\b"),
    Hostile("huge", "#" * 1_000_000, "larger than"),
    Hostile("deep", "(" * 5000 + ")" * 5000, "not valid Python"),
    Hostile("another script", "print('hello')\n", "another file"),
)

BROKEN = (
    Hostile("flags removed", SOLUTION.replace('parser.add_argument("--widen-factor", type=int, default=10, help="filters of the blocks, in units of 16, 32 and 64")', "args_widen = 1").replace("args.widen_factor", "1"), "arguments are not accepted any more"),
    Hostile("exception on rank 1", inside("if hvd.rank() == 1:\n    raise ValueError('odd one out')"), r"Rank 1 .* fails: ValueError: odd one out"),
    Hostile("collective on rank 0 only", inside("if hvd.rank() == 0:\n    hvd.allreduce([1.0], name='lonely')\nelse:\n    time.sleep(99)"), r"rank 0 is in allreduce of a tensor \(1,\), rank 1 never gets"),
    Hostile("early exit", inside("raise SystemExit"), "ends without training"),
    Hostile("exit on one rank", inside("if hvd.rank() == 1:\n    raise SystemExit"), "."),
    Hostile("os._exit", inside("os._exit(0)"), "ends before the program does"),
    Hostile("killed by its own signal", inside("import os\nos.kill(os.getpid(), 9)"), "killed by signal 9"),
)  # fmt: skip

GREEDY = (
    Hostile("endless loop", inside("while True:\n    pass"), "does not end|ended"),
    Hostile("signals ignored", inside("import signal\nfor n in range(1, 60):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n    except Exception:\n        pass\nwhile True:\n    time.sleep(1)"), "does not end|ended"),
    Hostile("fork bomb", inside("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass"), "."),
    Hostile("daemon that outlives", inside("if os.fork() == 0:\n    os.setsid()\n    while True:\n        time.sleep(1)"), ".", REVIEW),
    Hostile("memory", inside("hog = []\nwhile True:\n    hog.append(bytearray(2**28))"), "too much memory|MemoryError"),
    Hostile("output flood", inside("while True:\n    print('x' * 10000)"), "prints without end"),
    Hostile("disk flood", inside("with open('big', 'wb') as f:\n    while True:\n        f.write(bytes(2**20))"), "Error|killed"),
)  # fmt: skip

LYING = (
    Hostile("prints a verdict", inside(f"print('''{FAKE}''')"), "."),
    Hostile("prints a ready line", inside("print('{\"ready\": true}')\nprint('{\"topologies\": {}}')"), "."),
    Hostile("writes to every pipe", inside(f"for fd in range(3, 200):\n    try:\n        os.write(fd, b'''{FAKE}''')\n    except OSError:\n        pass"), "."),
    Hostile("patches hvd", inside("hvd.DistributedOptimizer = lambda opt: opt", SOLUTION), ".", REVIEW),
    Hostile("patches tf", inside("tf.GradientTape.gradient = None", SOLUTION), ".", REVIEW),
    Hostile("patches json", inside("import json\njson.dump = lambda *a, **k: None", SOLUTION), ".", REVIEW),
    Hostile("patches the probe", inside("import grader.probe\ngrader.probe.Probe.note = None", SOLUTION), ".", REVIEW),
    Hostile("finds the probe by gc", inside("import gc\nfound = [o for o in gc.get_objects() if type(o).__name__ == 'Probe']", SOLUTION), "gc", REVIEW),
    Hostile("finds the probe by frames", inside("import sys\nframe = sys._getframe()", SOLUTION), "_getframe", REVIEW),
    Hostile("finds the probe by modules", inside("import sys\nprobe = sys.modules.get('grader.probe')", SOLUTION), "modules", REVIEW),
    Hostile("ctypes", inside("import ctypes", SOLUTION), "ctypes", REVIEW),
    Hostile("reads the solution", inside("text = open('../solutions/fashion_mnist_solution.py').read()"), "No such file|Error"),
    Hostile("looks at /proc", inside("maps = open('/proc/self/maps').read()", SOLUTION), "proc|open", REVIEW),
    Hostile("kills its parent", inside("os.kill(os.getppid(), 9)"), "took down|killed|ends"),
    Hostile("exec hides it", inside("exec('import gc')", SOLUTION), "exec", REVIEW),
    Hostile("getattr hides it", inside("name = 'rank'\nrank = getattr(hvd, name)()", SOLUTION), "getattr", REVIEW),
    Hostile("changes who it is", inside("os.environ['HOROVOD_RANK'] = '0'", SOLUTION), "environment variable", REVIEW),
)  # fmt: skip

HOSTILE = (*UNREADABLE, *BROKEN, *GREEDY, *LYING)
