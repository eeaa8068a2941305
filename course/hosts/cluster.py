"""The owner's side of the hosts: a context manager that starts them, runs commands on them, and breaks them."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil

from course import launch
from course.hosts.layout import HEAD, NAME, PROGRAMS, SCRATCH, SHARED
from course.internal import proxies
from course.internal.following import follow
from course.internal.reaper import Reaped
from course.steps import ROOT

DISK = "64m"  # size of a host's own disk, in the notation of tmpfs. It is memory.

# Open MPI and the ssh that it starts do the same thing, and the second one complains.
_NOISE = re.compile(r"plm:ssh: Warning: setpgid\(.* failed in parent")


class HostsError(RuntimeError):
    """The hosts cannot be made, or not changed in this way; the message says why."""

    def _render_traceback_(self) -> list[str]:
        """Show the message alone in a notebook: the lines of this module do not help a learner."""
        return [f"{type(self).__name__}: {self}"]


class Cluster:
    """Hosts on this machine. A context manager: all that runs on them ends with it, or with this process.

    Attributes:
        hosts: the names of the hosts with slots. Commands start on another one, the head.
        slots: of each of them.
        variables: the environment variables of commands on the hosts.
    """

    def __init__(self, slots: dict[str, int], rate: str, disk: str):
        """Describe the hosts by the slots of each and, as up() does, the rest; entering the context starts them."""
        self._settings = {"slots": slots, "rate": rate, "disk": disk}
        self.slots = slots
        self.hosts = list(slots)
        self.variables = proxies.without(launch.environment(sum(slots.values())))
        self.variables |= {"PATH": f"{PROGRAMS}{os.pathsep}{self.variables['PATH']}", "TMPDIR": str(SCRATCH)}
        self._first: dict[str, int] = {}  # name -> first process of a host that is up

    def __enter__(self) -> Self:
        """Start the hosts.

        Raises:
            HostsError: this machine does not permit it, or the description is wrong.
        """
        if not shutil.which("nsenter"):
            raise HostsError("No hosts can be made here: nsenter is missing. Install it: apt-get install util-linux")
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", "course.hosts.keeper", json.dumps(self._settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.variables,
            cwd=ROOT,
            start_new_session=True,  # an interrupt in a terminal is the owner's
        )
        try:
            self._receive()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """End all processes of all hosts, and wait until they have ended."""
        self.close()

    def close(self) -> None:
        """Do what leaving the context does."""
        assert self._keeper.stdin and self._keeper.stdout
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        self._keeper.wait()
        self._keeper.stdout.close()

    def command(self, command: Sequence[str], on: str = HEAD) -> list[str]:
        """Return the command line that runs a command on a host, in this folder; it needs variables, too.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid"]
        if os.geteuid():
            namespaces += ["--user", "--preserve-credentials"]
        # nsenter changes to the host's root folder, and Reaped sets another TMPDIR.
        there = ["env", "-C", str(Path.cwd()), f"TMPDIR={SCRATCH}"]
        return ["nsenter", "--target", str(self._first_of(on)), *namespaces, *there, *command]

    def start(self, command: Sequence[str], on: str = HEAD, variables: Mapping[str, str] | None = None) -> Reaped:
        """Start a command on a host; its caller reads the output and closes it.

        Args:
            command: the program and its arguments.
            on: the host.
            variables: environment variables, added to the cluster's.

        Raises:
            HostsError: as command() does.
        """
        return Reaped(self.command(command, on), {**self.variables, **(variables or {})})

    def run(
        self,
        command: Sequence[str],
        on: str = HEAD,
        *,
        timeout: float = launch.TIMEOUT,
        say: Callable[[str], None] = print,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a host and return its exit status and what it printed to either output.

        Args:
            command, on, variables: as for start().
            timeout: seconds after which it is ended.
            say: takes each line as it is printed.

        Raises:
            HostsError: as command() does.
            TimeoutExpired: the command was ended; its output is what it had printed.
        """
        lines = []

        def take(line: str) -> None:
            lines.append(line)
            if not _NOISE.search(line):
                say(launch.as_terminal(line.rstrip("\n")))

        status = follow(self.start(command, on, variables), f"{command[0]} is running", timeout, take)
        if status is None:
            raise subprocess.TimeoutExpired(command, timeout, "".join(lines))
        return subprocess.CompletedProcess(command, status, "".join(lines))

    def shell(self, command: str, on: str = HEAD, **options: Any) -> subprocess.CompletedProcess[str]:
        """Print a command line, as typed on a host, and run it there in a shell.

        Args:
            command: the line.
            on: the host.
            options: as for run().

        Raises:
            HostsError, TimeoutExpired: as run() does.
        """
        print(f"{on}$ {launch.from_here(command)}")
        return self.run(["bash", "-c", command], on, **options)

    def processes(self) -> dict[str, list[psutil.Process]]:
        """Return the processes of each host that is up, as this machine sees them, without the hosts' own.

        Looks from outside, by process namespaces.
        """
        names = {Path(f"/proc/{first}/ns/pid").stat().st_ino: name for name, first in self._first.items()}
        found: dict[str, list[psutil.Process]] = {name: [] for name in self._first}
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):  # it has ended, or is another user's
                name = names.get(Path(f"/proc/{process.pid}/ns/pid").stat().st_ino)
                if name and "course.hosts.keeper" not in process.cmdline():
                    found[name].append(process)
        return found

    def received(self, host: str) -> dict[str, int]:
        """Return the bytes that each interface of a host has received since the host was booted.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        lines = Path(f"/proc/{self._first_of(host)}/net/dev").read_text().splitlines()[2:]
        return {name: int(numbers.split()[0]) for name, _, numbers in (line.strip().partition(":") for line in lines)}

    @property
    def shared(self) -> Path:
        """The folder that all hosts see as /shared, from outside; it is gone when the cluster is."""
        return self.seen_from_outside(HEAD, SHARED)

    def scratch(self, host: str) -> Path:
        """Return the folder that a host sees as /scratch, from outside.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        return self.seen_from_outside(host, SCRATCH)

    def seen_from_outside(self, host: str, path: Path) -> Path:
        """Return where this machine finds a file or folder of a host.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        return Path(f"/proc/{self._first_of(host)}/root{path}")

    def pull_cable(self, host: str) -> None:
        """Cut a host off from the data network: its interface is there and has no carrier.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        self._request("pull_cable", host)

    def slow(self, host: str, rate: str) -> None:
        """Change the rate of a host's cable to the data network, in both directions.

        Args:
            host: its name.
            rate: 10gbit, 100mbit, 500kbit, ...

        Raises:
            HostsError: there is no such host, it is down, or this is not a rate.
        """
        self._request("slow", host, rate=rate)

    def fill_disk(self, host: str) -> None:
        """Write to a host's own disk until it is full.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        self._request("fill_disk", host)

    def hide_shared(self, host: str) -> None:
        """Let a host see an empty folder in place of /shared, as where a network file system is not mounted.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        self._request("hide_shared", host)

    def kill(self, host: str) -> None:
        """End all processes of a host at once. Its interfaces and its disk go with them; other hosts see it vanish.

        Raises:
            HostsError: there is no such host, or it is down.
        """
        self._request("kill", host)

    def revive(self, host: str) -> None:
        """Bring a host back: boot it with an empty disk if it is down; otherwise undo what was done to it.

        Raises:
            HostsError: there is no such host, or it does not start.
        """
        self._check(host)
        self._ask({"do": "revive", "host": host})

    def _request(self, fault: str, host: str, **more: str) -> None:
        self._first_of(host)
        self._ask({"do": fault, "host": host, **more})

    def _ask(self, request: dict[str, Any]) -> None:
        """Send the keeper a request, and wait until it is done."""
        assert self._keeper.stdin
        with contextlib.suppress(BrokenPipeError):  # _receive() explains it
            print(json.dumps(request), file=self._keeper.stdin, flush=True)
        self._receive()

    def _receive(self) -> None:
        """Take an answer of the keeper's."""
        assert self._keeper.stdout
        line = self._keeper.stdout.readline()
        if not line:
            raise HostsError("The hosts have ended: the process that keeps them was killed.")
        answer = json.loads(line)
        if "error" in answer:
            raise HostsError(answer["error"])
        self._first = answer["first"]

    def _first_of(self, host: str) -> int:
        self._check(host)
        if host not in self._first:
            raise HostsError(f"{host} is down. revive('{host}') boots it.")
        return self._first[host]

    def _check(self, host: str) -> None:
        if host not in (HEAD, *self.hosts):
            raise HostsError(f"There is no host {host}. There are {HEAD}, {', '.join(self.hosts)}.")


def up(
    hosts: int | Sequence[str] = 2, *, slots: int | Sequence[int] = 2, rate: str = "1gbit", disk: str = DISK
) -> Cluster:
    """Return a cluster of hosts on this machine, to be entered.

        with hosts.up(2, slots=2, rate="1gbit") as cluster:
            cluster.run(["mpirun", "-np", "4", "--hostfile", "/cluster/hostfile", "python", "train.py"])

    Args:
        hosts: their names, or their number, besides the head: then they are node1, node2, ...
        slots: ranks that each is meant for, or the ranks of one after another; the hostfile says so.
        rate: of the data network. The management network is ten times slower.
        disk: the size of each host's own disk, as tmpfs takes it.

    Raises:
        HostsError: this is not a name, or not as many slots as hosts are named.
    """
    names = [f"node{number}" for number in range(1, hosts + 1)] if isinstance(hosts, int) else hosts
    wrong = next((name for name in names if name == HEAD or not re.fullmatch(NAME, name)), None)
    if wrong is not None:
        raise HostsError(f"A host cannot be called '{wrong}'. Use up to 13 small letters and digits; not {HEAD}.")
    each = [slots] * len(names) if isinstance(slots, int) else slots
    if len({*names}) != len(each):
        raise HostsError("Give each host a name of its own, and the slots of each.")
    return Cluster(dict(zip(names, each, strict=True)), rate, disk)


def forbidden() -> str | None:
    """Return None where hosts can be made, and otherwise why not."""
    try:
        with up(1):
            return None
    except HostsError as error:
        return str(error)
