"""Files that are not honest attempts: broken, endless, greedy or lying ones.

Each has the verdicts that it may get, and a pattern for the reason that the judge gives.
"""

import re
from dataclasses import dataclass

from course.steps import get
from grader.terms.report import Report

SOLUTION = get(6).solution.read_text()
STARTER = get(3).starter.read_text()  # after step 2: trains, and lacks step 3
AFTER_INIT = "hvd.init()\n"


@dataclass(frozen=True)
class Hostile:
    """A file that must not pass, and the step that it is judged at."""

    name: str
    content: str | bytes
    says: str  # a regular expression for the first failing message, with its line: "… line 24"
    status: tuple[str, ...] = ("failed",)
    step: int = 3
    in_ci: bool = True  # whether tests/grader/test_judge.py judges it; scripts/bench judges every file

    def text(self) -> str | bytes:
        """Return the file's content."""
        return self.content

    def deserves(self, report: Report) -> bool:
        """Return whether a report has one of the file's verdicts, for the right reason."""
        failure = report.first_failure
        return report.status in self.status and bool(re.search(self.says, f"{failure.message} line {failure.line}"))


def inside(code: str, text: str = STARTER) -> str:
    """Return a program with this code right after Horovod's initialisation."""
    assert text.count(AFTER_INIT) == 1
    return text.replace(AFTER_INIT, AFTER_INIT + code + "\n")


LINE = STARTER.split(AFTER_INIT)[0].count("\n") + 2  # of what comes right after Horovod's initialisation
TIMEOUT = r"Rank \d .* \d+ s\b"  # tests and benchmarks set different limits
FAKE = '{"schema": 1, "step": 3, "status": "passed", "score": 30, "max_score": 30, "checks": []}'

UNREADABLE = (
    Hostile("empty", "", "is empty"),
    Hostile("blank", " \n\n", "is empty"),
    Hostile("syntax error", SOLUTION.replace("hvd.init()", "hvd.init("), "not valid Python"),
    Hostile("binary", b"\x7fELF\0\0\1\2", "is binary"),
    Hostile("UTF-16", SOLUTION.encode("utf-16"), "UTF-16, which nothing runs"),
    Hostile("UTF-16 without a mark", SOLUTION.encode("utf-16-le"), "UTF-16-LE"),
    Hostile("a notebook", get(3).notebook.read_text(), "is a notebook"),
    Hostile(
        "Windows line ends",
        get(18).solution.read_text().replace("\n", "\r\n"),
        r"Windows line ends.* line 1\b",
        step=18,
    ),
    Hostile("latin-1", SOLUTION.replace("Train", "Tr\xe4in", 1).encode("latin-1"), r"not UTF-8 text: see line 1\b"),
    Hostile("huge", "#" * 1_000_000, "larger than"),
    Hostile("deep", "(" * 5000 + ")" * 5000, "not valid Python"),
    Hostile("another script", "print('hello')\n", "another file"),
)

BROKEN = (
    Hostile("flags removed", re.sub(r'parser\.add_argument\("--widen-factor".*\)', "args_widen = 1", SOLUTION).replace("args.widen_factor", "1"), "unrecognized arguments: --widen-factor"),
    Hostile("exception on rank 1", inside("if hvd.rank() == 1:\n    raise ValueError('odd one out')"), r"Rank 1 .* fails.*: ValueError: odd one out"),
    Hostile("collective on rank 0 only", inside("if hvd.rank() == 0:\n    hvd.allreduce([1.0], name='lonely')\nelse:\n    time.sleep(99)"), rf"rank 0 .*allreduce of a tensor \(1,\).* rank 1 never|{TIMEOUT}"),
    Hostile("early exit", inside("raise SystemExit"), "without training"),
    Hostile("exit on one rank", inside("if hvd.rank() == 1:\n    raise SystemExit"), r"Rank 1 .*without training"),
    Hostile("os._exit", inside("os._exit(0)"), "exit status 0"),
    Hostile("killed by its own signal", inside("import os\nos.kill(os.getpid(), 9)"), "killed by signal 9"),
)  # fmt: skip

# Those of which a class is attacked with another one, too, are tested there: see tests/attacks/scripts.py.
GREEDY = (
    Hostile("endless loop", inside("while True:\n    pass"), rf"{TIMEOUT}.* line ({LINE}|{LINE + 1})$"),
    Hostile("signals ignored", inside("import signal\nfor n in range(1, 60):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n    except Exception:\n        pass\nwhile True:\n    time.sleep(1)"), TIMEOUT),
    # The sandbox's limit on memory comes first, or on a slow machine the time limit.
    Hostile("fork bomb", inside("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass"), f"too much memory|{TIMEOUT}", in_ci=False),
    # The file lacks step 3, and is judged although the daemon is still there.
    Hostile("daemon that outlives", inside("if os.fork() == 0:\n    os.setsid()\n    while True:\n        time.sleep(1)"), "own gradient", in_ci=False),
    # The first limit it reaches: of all processes in the sandbox together, or of one.
    Hostile("memory", inside("hog = []\nwhile True:\n    hog.append(bytearray(2**28))"), "too much memory|MemoryError", in_ci=False),
    Hostile("output flood", inside("while True:\n    print('x' * 10000)"), rf"prints endlessly.* line ({LINE}|{LINE + 1})$"),
    Hostile("disk flood", inside("with open('big', 'wb') as f:\n    while True:\n        f.write(bytes(2**20))"), "File too large", in_ci=False),
)  # fmt: skip

LYING = (
    # What the next two files print is output like any other, and rank 0 alone may print.
    Hostile("prints a verdict", inside(f"print('''{FAKE}''')"), r'Rank 1 .*prints.*"status": "passed"'),
    Hostile("prints a ready line", inside("print('{\"ready\": true}')\nprint('{\"clusters\": {}}')"), r'Rank 1 .*prints.*"ready": true'),
    # By chance, it stops Horovod, or spoils its own report alone.
    Hostile("writes to every pipe", inside(f"for fd in range(3, 200):\n    try:\n        os.write(fd, b'''{FAKE}''')\n    except OSError:\n        pass"), rf"{TIMEOUT}|leaves no report"),
    Hostile("reads the solution", inside("text = open('../solutions/fashion_mnist_solution.py').read()"), r"No such file or directory: .*_solution\.py"),
    Hostile("kills its parent", inside("os.kill(os.getppid(), 9)"), "are gone", ("not_graded",)),
    Hostile("kills all that it can", inside("os.kill(-1, 9)"), "are gone", ("not_graded",), in_ci=False),
)  # fmt: skip

HOSTILE = (*UNREADABLE, *BROKEN, *GREEDY, *LYING)
