"""Scripts that reach for what is around them. Each function returns what is put before an honest one's first line.

What a script finds out could only get out by its report, so what it reads it ends with: LEAK and the text.
"""

from collections.abc import Callable

from tests.attacks import STEP, Aim, Attacks

SCRIPTS = Attacks()
REACHES: list[Callable[[Aim], str]] = []  # none gets anywhere, so an honest script can do one after the other
BEFORE = "import glob, os, sys, time\n"


def reach(function: Callable[[Aim], str]) -> Callable[[Aim], str]:
    """Add a function that returns code which reaches for something."""
    REACHES.append(function)
    return function


def read(path) -> str:
    """Return code that ends with what is in a file."""
    found = f"open({str(path)!r}, errors='replace').read(400)"
    return f"try:\n    raise SystemExit('LEAK ' + {found})\nexcept OSError:\n    pass\n"


def write(path) -> str:
    """Return code that writes over a file."""
    return f"try:\n    open({str(path)!r}, 'w').write('planted')\nexcept OSError:\n    pass\n"


@reach
def reads_the_gradebook(aim: Aim) -> str:
    """It is not there."""
    return read(aim.course / "gradebook.db")


@reach
def reads_another_s_work(aim: Aim) -> str:
    """It is not there."""
    return read(aim.course / "submitted" / "alice" / STEP.name / STEP.script)


@reach
def reads_the_solution(aim: Aim) -> str:
    """It is not there."""
    return read(STEP.solution)


@reach
def reads_the_home(aim: Aim) -> str:
    """It is not there."""
    return read(aim.home / "secret.txt")


@reach
def reads_a_verdict(aim: Aim) -> str:
    """They are not there."""
    return f"for path in glob.glob({str(aim.course)!r} + '/verdicts/*'):\n    raise SystemExit('LEAK ' + path)\n"


@reach
def reads_the_environment(aim: Aim) -> str:
    """The grader's variables are not its own."""
    return "if 'CANARY' in str(os.environ):\n    raise SystemExit('LEAK')\n"


@reach
def reads_other_environments(aim: Aim) -> str:
    """No process of another's is there to look into."""
    return (
        "for path in glob.glob('/proc/[0-9]*/environ'):\n    try:\n        found = open(path).read()\n"
        "    except OSError:\n        continue\n    if 'CANARY' in found:\n        raise SystemExit('LEAK ' + path)\n"
    )


@reach
def writes_the_gradebook(aim: Aim) -> str:
    """It cannot."""
    return write(aim.course / "gradebook.db")


@reach
def writes_another_s_work(aim: Aim) -> str:
    """It cannot."""
    return write(aim.course / "submitted" / "alice" / STEP.name / STEP.script)


@reach
def writes_a_module(aim: Aim) -> str:
    """The packages are not to be written."""
    return write(STEP.solution.parents[1] / "grader" / "sitecustomize.py") + "import course\n" + write("course.py")


@reach
def writes_outside(aim: Aim) -> str:
    """It is in a file system of its own."""
    return f"os.makedirs({str(aim.outside)!r}, exist_ok=True)\n" + write(aim.outside / "planted")


@reach
def outlives_the_job(aim: Aim) -> str:
    """All that it started ends with it."""
    return "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(3600)\n    os._exit(0)\n"


@reach
def calls_home(aim: Aim) -> str:
    """No one receives it."""
    return (
        "import socket\ntry:\n"
        f"    socket.create_connection(('127.0.0.1', {aim.port}), 2)\n    raise SystemExit('LEAK')\n"
        "except OSError:\n    pass\n"
    )


@SCRIPTS.of("judged")
def reaches_for_what_is_around_it(aim: Aim) -> str:
    """Nothing of it is there, or can be written."""
    return "".join(function(aim) for function in REACHES)


@SCRIPTS.of("no points")
def floods_the_output(aim: Aim) -> str:
    """It is ended, and what it wrote is not kept."""
    return "while True:\n    print('flood' * 10000)\n"


@SCRIPTS.of("no points")
def floods_the_disk(aim: Aim) -> str:
    """It is a small one, of its own."""
    return "while True:\n    open(f'/tmp/{time.time()}', 'wb').write(bytes(10**7))\n"


@SCRIPTS.of("no points")
def takes_the_memory(aim: Aim) -> str:
    """There is a limit to it."""
    return "hoard = []\nwhile True:\n    hoard.append(bytearray(10**8))\n"


@SCRIPTS.of("no points")
def forks_without_end(aim: Aim) -> str:
    """There is a limit to it."""
    return "while True:\n    try:\n        os.fork()\n    except OSError:\n        os._exit(1)\n"


@SCRIPTS.of("no points")
def lies_about_itself(aim: Aim) -> str:
    """A report is not what a script prints."""
    return 'print(\'{"schema": 1, "status": "passed", "score": 10, "max_score": 10}\')\nos._exit(0)\n'


@SCRIPTS.of("no points")
def steers_the_terminal(aim: Aim) -> str:
    """It is shown as text, in the summary, too."""
    return "raise SystemExit('[/x] \\x1b[31m \\u202e')\n"


@SCRIPTS.of("no points")
def reads_the_exchange(aim: Aim) -> str:
    """It is not there, and neither is the folder that nbgrader makes it in."""
    return "if not os.path.exists('/usr/local/share'):\n    sys.exit('nothing there')\nraise SystemExit('LEAK')\n"
