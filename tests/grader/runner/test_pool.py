"""Where scripts run: what they find there, what they cannot reach, and that nothing of them stays."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from course import steps
from course.steps import ROOT
from grader import checks
from grader.checks.training import CLUSTERS
from grader.runner import messages
from grader.runner import pool as pools
from grader.runner.pool import NoVerdictError, OverrunError, Pool
from grader.sandbox import policy
from grader.terms.clusters import Fresh, TaskSpec
from grader.terms.job import Answer, Extended, Result, TurnBegan
from tests.conftest import listen_to_interrupts

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pool():
    assert policy.available() is None
    with Pool() as pool:
        yield pool


def results(pool, script: str, clusters=CLUSTERS, **options) -> dict[str, list[Result]]:
    """Run a script and return what each rank left, by cluster."""
    return pool.run(script, "script.py", clusters, **options).clusters


def printed(pool, script: str, cluster: str = "one-host") -> list[str]:
    """Run a script and return what its ranks printed there."""
    return [rank.stdout.strip() for rank in results(pool, script)[cluster]]


def test_ranks_know_their_place(pool):
    told = "import horovod.tensorflow as hvd\nhvd.init()\n"
    told += "print(hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size())"
    begun = []
    answer = results(pool, told, begins=begun.append)
    places = {name: [rank.stdout.strip() for rank in ranks] for name, ranks in answer.items()}
    assert places == {
        "one-host": ["0 2 0 2", "1 2 1 2"],
        "two-hosts": ["0 2 0 1", "1 2 0 1"],
        "three-ranks": ["0 3 0 3", "1 3 1 3", "2 3 2 3"],
    }
    assert "; ".join(begun) == "; ".join(cluster.description for cluster in CLUSTERS)


WORKERS = Fresh("two-workers", "two workers", 1, 2, 0, tasks=(TaskSpec("worker"),) * 2)


@pytest.mark.parametrize("cluster", [CLUSTERS[0], WORKERS], ids=lambda cluster: cluster.name)
def test_no_rank_takes_a_data_iterator_down(pool, cluster):
    script = "import gc, weakref\nimport tensorflow as tf\nmade = weakref.ref(iter(tf.data.Dataset.range(2)))\n"
    left = results(pool, f"{script}gc.collect()\nprint(next(made()).numpy())", [cluster])
    assert [rank.stdout for rank in left[cluster.name]] == ["0\n"] * 2


def test_of_workers_that_wait_for_good_one_that_is_through_was_not_ended(pool):
    script = "import json, os\nimport tensorflow as tf\nif json.loads(os.environ['TF_CONFIG'])['task']['index']:\n"
    left = results(pool, f"{script}    tf.distribute.MultiWorkerMirroredStrategy()", [WORKERS])["two-workers"]
    assert [(rank.ended_for, rank.collective) for rank in left] == [(None, ""), ("stall", "the start of the cluster")]


def test_a_rank_that_fails_ends_though_a_process_of_its_own_stays(pool):
    script = "import os, time\nif os.fork() == 0:\n    time.sleep(3600)\nraise ValueError('no')"
    assert [(rank.exit, rank.ended_for) for rank in results(pool, script)["one-host"]] == [(1, None)] * 2


def test_nothing_of_one_script_is_there_for_the_next(pool):
    look = "from pathlib import Path\nimport tensorflow as tf\n"
    look += "print(Path('/tmp/mark').exists(), hasattr(tf, 'mark'))\n"
    leave = look + "tf.mark = 1\nPath('/tmp/mark').write_text('x')"
    assert "False False" in printed(pool, leave)  # all ranks of one script share a folder
    assert printed(pool, look) == ["False False", "False False"]


def test_a_script_finds_neither_files_nor_variables_nor_processes_of_the_host(pool, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    hidden = [ROOT / "solutions", ROOT / "tests", ROOT / "README.md", Path.home() / ".cache", Path("/etc/hosts")]
    look = "import os\nfrom pathlib import Path\n"
    look += f"seen = [path for path in {list(map(str, hidden))} if Path(path).exists()]\n"
    look += "seen += [name for name in os.environ if 'SECRET' in name]\n"
    look += f"print(seen, Path('/proc/{os.getpid()}').exists())"
    assert printed(pool, look) == ["[] False", "[] False"]


def test_a_script_has_a_user_with_a_name_and_a_repository_with_a_commit(pool):
    asks = "import getpass, os, pwd, subprocess\nuser = pwd.getpwuid(os.getuid())\n"
    asks += "commit = subprocess.check_output(['git', 'describe', '--always', '--dirty'], text=True)\n"
    asks += "users = [line.split(':')[0] for line in open('/etc/passwd')]\n"
    asks += "print(getpass.getuser(), user.pw_name, user.pw_dir == os.environ['HOME'], len(commit) > 7, users)"
    assert printed(pool, asks) == ["learner learner True True ['root', 'learner']"] * 2
    writes = "try:\n    open('/etc/passwd', 'a')\nexcept OSError:\n    print('closed')"
    assert os.geteuid() or printed(pool, writes) == ["closed"] * 2


def test_a_script_cannot_become_another_user_nor_make_namespaces(pool):
    tries = "import ctypes, os\nlibc = ctypes.CDLL(None)\ndone = [libc.unshare(0x10000000), libc.unshare(0x20000)]\n"
    tries += "try:\n    os.setuid(0)\n    done.append(0)\nexcept OSError:\n    pass\n"
    tries += "print(done, [line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')])"
    assert printed(pool, tries) == ["[-1, -1] ['0000000000000000']"] * 2


def test_a_script_reaches_no_server_of_the_host(pool):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        knock = f"import socket\ntry:\n    socket.create_connection(('127.0.0.1', {port}), 2)\n"
        knock += "    print('in')\nexcept OSError:\n    print('out')"
        assert printed(pool, knock) == ["out", "out"]


def test_a_greedy_script_does_not_harm_one_beside_it(pool):
    bomb = "import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(0.01)"
    outcomes = []

    def run_bomb():
        try:
            outcomes.append(results(pool, bomb, seconds=20)["one-host"][0].ended_for)
        except OverrunError:
            outcomes.append("overrun")

    other = threading.Thread(target=run_bomb)
    other.start()
    assert printed(
        pool, "import threading\nfor _ in range(20):\n    threading.Thread(target=print).start()\nprint('fine')"
    )
    clusters = [cluster for cluster in checks.of(4).clusters(4) if not cluster.reserved]
    honest = results(pool, steps.get(6).solution.read_text(), clusters)
    assert all(rank.exit == 0 for ranks in honest.values() for rank in ranks)
    other.join()
    assert outcomes[0] in ("time", "overrun", "memory")


def test_the_fork_server_is_started_again_when_it_is_gone(pool):
    pool.server.process.kill()
    pool.server.process.wait()
    assert printed(pool, "print('again')") == ["again", "again"]


def test_an_idle_fork_server_gives_its_memory_back_and_the_next_run_starts_it_again():
    with Pool(idle=0.1) as pool:
        assert printed(pool, "print('here')") == ["here", "here"]
        pool.server.process.wait(60)
        assert printed(pool, "print('again')") == ["again", "again"]


def test_what_a_pool_keeps_is_small(pool):
    printed(pool, "print()")
    server = psutil.Process(pool.server.process.pid)
    _, alive = psutil.wait_procs(server.children(), timeout=60)  # a fork ends after it has answered
    assert server.memory_full_info().pss < 300 * 2**20 and not alive


def test_no_file_is_left_by_ranks_that_were_killed_without_a_sandbox(leftovers):
    script = "import os, signal, tempfile\ntempfile.NamedTemporaryFile(delete=False)\nos.kill(os.getpid(), 9)"
    with Pool(sandboxed=False) as pool:
        pool.run(script, "script.py", CLUSTERS)
    assert leftovers() == [] and not list(Path(os.environ["TMPDIR"]).iterdir())


def test_a_fault_of_the_grader_is_no_verdict(pool):
    with pytest.raises(NoVerdictError, match=r"(?s)No such file"):
        pool.run("print()", "a folder that is not there/script.py", CLUSTERS)


def test_no_sandbox_is_no_verdict(pool, monkeypatch):
    monkeypatch.setattr(policy, "bwrap", lambda: "/bin/false")
    with pytest.raises(NoVerdictError, match="No sandbox could be made"):
        pool.run("print()", "script.py", CLUSTERS)


ANSWER = Answer({"one": [Result(0, None, "", "out", "", b"facts")]}, 7)


def awaited(*sent, seconds=0.05):
    """Return what comes of these bytes and messages, which a fork has written, and the turns that it began."""
    read, write = os.pipe()
    begun = []
    for each in sent:
        os.write(write, each) if isinstance(each, bytes) else messages.send(write, each)
    if seconds > 1:
        os.close(write)
    try:
        return pools._await(read, seconds, begun.append), begun
    finally:
        os.close(read)


def test_an_answer_comes_after_messages_of_turns_and_of_time():
    assert awaited(TurnBegan("one"), Extended(), TurnBegan("two"), ANSWER) == (ANSWER, ["one", "two"])


def test_a_fork_that_says_nothing_in_time_has_overrun():
    with pytest.raises(OverrunError):
        awaited(TurnBegan("one"))


@pytest.mark.parametrize("sent", [b"", b"\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x01\xc1", b"\0\0\0\x01\x80"])
def test_what_is_no_answer_is_no_verdict(sent):
    with pytest.raises(NoVerdictError):
        awaited(sent, seconds=10)


def test_a_busy_machine_makes_a_script_slower_and_does_not_end_it(pool):
    script = "import time\nbegan = time.process_time()\nwhile time.process_time() < began + 1: pass"
    busy = [sys.executable, "-c", "while True: pass"]
    with contextlib.ExitStack() as stack:
        for _ in range(6 * os.cpu_count()):
            others = subprocess.Popen(busy, start_new_session=True)  # of one session, the kernel may make one's share
            stack.callback(stack.enter_context(others).kill)
        answer = results(pool, script, CLUSTERS[:1], seconds=6.5)  # it takes 7 or more, half of which counts
    assert [rank.ended_for for rank in answer["one-host"]] == [None, None]


@pytest.mark.parametrize("sandboxed", [True, False])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_all_ends_with_the_grader(number, sandboxed, leftovers):
    code = "from grader.checks.training import CLUSTERS\nfrom grader.runner.pool import Pool\n"
    code += f"pool = Pool({sandboxed})\nprint('begun', flush=True)\n"
    code += "pool.run('while True: pass', 'script.py', CLUSTERS)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as grader:
        grader.stdout.readline()
        running = []
        while len(running) < 3:  # the fork server, and a sandbox or ranks
            assert grader.poll() is None
            running = psutil.Process(grader.pid).children(recursive=True)
        os.kill(grader.pid, number)
    psutil.wait_procs(running, 30)
    assert leftovers() == [] and not list(Path(os.environ["TMPDIR"]).iterdir())


def test_without_a_sandbox_ranks_run_too_and_end(leftovers):
    with Pool(sandboxed=False) as pool:
        assert printed(pool, "print('here')") == ["here", "here"]
        answer = results(pool, "import time\ntime.sleep(1000)", seconds=1)
        assert answer["one-host"][0].ended_for == "time"
    assert leftovers() == []


def test_without_a_sandbox_bytes_on_the_loopback_which_other_programs_use_too_are_not_counted():
    script = "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
    script += "socket.create_connection(server.getsockname()).sendall(bytes(5000))"
    with Pool(sandboxed=False) as pool:
        assert pool.run(script, "script.py", CLUSTERS).traffic == 0
        pool.sandboxed = True
        assert pool.run(script, "script.py", CLUSTERS).traffic > 5000


@pytest.mark.parametrize(
    "take",
    ["os.memfd_create('x')", "ctypes.CDLL(None).shmget(0, 4096, 0o1600)"],
)
def test_a_script_gets_no_memory_that_no_limit_counts(pool, take):
    script = f"import ctypes, os\ntry:\n    print({take})\nexcept PermissionError:\n    print(-1)"
    assert printed(pool, script) == ["-1", "-1"]


def test_memory_that_processes_share_counts(pool):
    script = "import mmap, os, time\nheld = mmap.mmap(-1, 2**30)\nfor _ in range(5):\n    os.fork()\n"
    script += "for start in range(0, len(held), 4096):\n    held[start] = 1\ntime.sleep(600)"
    assert results(pool, script, CLUSTERS[:1])["one-host"][0].ended_for == "memory"


INTERRUPTED = """
import os, signal
from course.steps import get
from grader.judge import judge
from grader.runner.pool import Pool
script = get(2).solution
with Pool() as pool:
    stopped = judge(script, 2, pool, begins=lambda cluster: os.killpg(0, signal.SIGINT))
    print(stopped.status, stopped.first_failure.message)
    print(judge(script, 2, pool).status)
"""


@pytest.mark.slow
def test_a_check_works_after_one_that_was_interrupted(leftovers):
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        start_new_session=True,
        preexec_fn=listen_to_interrupts,
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("not_graded Interrupted") and second == "passed" and done.stderr == ""
    assert leftovers() == []
