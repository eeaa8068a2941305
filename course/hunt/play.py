"""Start the job of a case, as the ticket says, and print what it prints."""

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from course import cluster, hosts, launch
from course.hosts import slurm
from course.hosts.cluster import Cluster
from course.hunt.cases import DIAGNOSIS, Case, Fault
from course.internal.failures import RunError
from course.steps import SOLUTIONS

Say = Callable[[str], None]


def run(case: Case, say: Say = print, folder: Path | None = None) -> None:
    """Run the job with the learner's files.

    Args:
        case: whose job it is.
        say: takes each line.
        folder: with the files; that of the case, if None.

    Raises:
        RunError: the job failed or did not end; the message says how.
        HostsError: no hosts can be made here.
    """
    job = case.job
    with contextlib.chdir(folder or case.work):
        if job.slots:
            _run_on_hosts(case, say)
        elif job.tasks:
            commands = [_task(text) for text in job.tasks]
            cluster.run_commands(commands, timeout=job.seconds)
        else:
            launch.script(
                case.script,
                job.np,
                hosts=job.hosts,
                gpus=job.gpus,
                variables=job.variables,
                timeout=job.seconds,
                say=say,
                **job.flags,
            )


def _run_on_hosts(case: Case, say: Say) -> None:
    """Run the command of a case on hosts.

    Raises:
        RunError: it failed, or did not end in time.
    """
    job = case.job
    say(f"head$ {job.command}")
    with on_hosts(case) as there:
        faults = prepare(there, case, Path.cwd())

        def take(line: str) -> None:
            say(line)
            faults.saw(line)

        try:
            done = there.run(command(case), timeout=job.seconds, say=take, variables=job.variables)
        except subprocess.TimeoutExpired:
            raise RunError(f"The job did not end within {job.seconds} s.") from None
        finally:
            for made in (there.shared / "job").glob("*.json"):  # timelines
                shutil.copy(made, ".")
    if done.returncode:
        raise RunError(f"The job ended with exit status {done.returncode}.")


def _task(text: str) -> tuple[str, int, str]:
    """Return kind, count and command of worker:2=train.py --epochs 2."""
    task, _, command = text.partition("=")
    kind, _, count = task.partition(":")
    return kind, int(count or 1), command


@contextlib.contextmanager
def on_hosts(case: Case) -> Iterator[Cluster]:
    """Make the hosts of a case, with Slurm if the case has it."""
    job = case.job
    with contextlib.ExitStack() as stack:
        there = stack.enter_context(hosts.up(list(job.slots), slots=list(job.slots.values()), rate=job.rate))
        if job.slurm:
            stack.enter_context(slurm.up(there))
        yield there


class Faults:
    """What has not happened yet to the hosts of a case."""

    def __init__(self, there: Cluster, case: Case):
        """Let happen what does before the job starts."""
        self._there, self._waiting = there, list(case.job.faults)
        self.saw("")

    def saw(self, printed: str) -> None:
        """Let happen what follows such a text."""
        for fault in [each for each in self._waiting if each.when in printed]:
            self._happen(fault)
            self._waiting.remove(fault)

    def _happen(self, fault: Fault) -> None:
        options = {"rate": fault.rate} if fault.rate else {}
        getattr(self._there, fault.do)(fault.host, **options)


def prepare(there: Cluster, case: Case, folder: Path) -> Faults:
    """Copy the files of a job to /shared/job, where its command starts, and return what happens to the hosts later."""
    shutil.copytree(folder, there.shared / "job", ignore=shutil.ignore_patterns("*.ipynb", DIAGNOSIS))
    return Faults(there, case)


def command(case: Case) -> list[str]:
    """Return the command that starts the job on the head; its variable SOLUTIONS has the folder of the solutions."""
    return ["env", f"SOLUTIONS={SOLUTIONS}", "bash", "-c", f"cd /shared/job && {case.job.command}"]
