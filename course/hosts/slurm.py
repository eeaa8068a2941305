"""Slurm on the hosts: a controller on the head, and a node with as many CPUs as slots on each host.

    with hosts.up(2, slots=2) as cluster, slurm.up(cluster):
        cluster.run(["srun", "--nodes", "2", "hostname"])

It is Debian's Slurm, with MUNGE to authenticate its messages, and needs no root: all of it runs as the user of the
hosts, who is the only one that can submit jobs. Its files are in the hosts' memory and end with them.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from course.hosts.cluster import Cluster, HostsError
from course.hosts.layout import CLUSTER, HEAD

PATIENCE = 60  # seconds until all nodes have to be idle; on two free cores it takes some four
MEMORY = 8000  # MB of a node with GPUs, in Slurm's books
DEVICES = "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"  # in place of GPUs, for which Slurm wants device files
LOST = 8  # seconds without an answer after which a node is down. Slurm's default is 300.

FOLDER = CLUSTER / "slurm"  # for all hosts
CONFIGURATION, KEY, EPILOG = FOLDER / "slurm.conf", FOLDER / "munge.key", FOLDER / "epilog"
OWN = Path("/dev/shm/slurm")  # of each host's own: the sockets, logs and states of its daemons
SOCKET = OWN / "munge.socket"
ENDED = OWN / "ended.txt"  # on the head: a line for each job that has ended

DAEMONS = ("munged", "slurmctld", "slurmd", "slurmstepd")
_SETTINGS = f"""\
ClusterName=course
SlurmctldHost={HEAD}
SlurmUser={{user}}
SlurmdUser={{user}}
AuthInfo=socket={SOCKET}
StateSaveLocation={OWN}/state
SlurmdSpoolDir={OWN}/spool
SlurmctldPidFile={OWN}/slurmctld.pid
SlurmdPidFile={OWN}/slurmd.pid
SlurmctldLogFile={OWN}/slurmctld.log
SlurmdLogFile={OWN}/slurmd.log
# Control groups need root. Without them, the processes of a job are found by their parents; the epilog ends the others.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
Epilog={EPILOG}
# A node has as many CPUs as the host has slots, whatever the machine has.
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
# A node that has not answered for some seconds is down. When it answers again, it is given jobs again.
SlurmdTimeout={LOST}
MessageTimeout={LOST // 2 + 1}
ReturnToService=2
KillWait=10
SchedulerParameters=bf_interval=1
JobCompType=jobcomp/filetxt
JobCompLoc={ENDED}
# Slurm's default is 1. With 0, a job goes back into the queue only if it asks for that, which the lesson shows.
JobRequeue=0
PartitionName=short Nodes=ALL MaxTime=00:10:00 PriorityTier=2
PartitionName=long Nodes=ALL MaxTime=1-00:00:00 Default=YES
"""

# Runs on each node of a job when the job has ended there; it has the job's number in its environment, too.
_EPILOG = """\
#!/bin/sh
for file in $(grep -lzx "SLURM_JOB_ID=$SLURM_JOB_ID" /proc/[0-9]*/environ 2> /dev/null); do
    if ! grep -qz "^SLURM_SCRIPT_CONTEXT=" "$file"; then
        process=${file#/proc/}
        kill -KILL "${process%/environ}"
    fi
done
exit 0  # a node whose epilog fails is drained
"""


def missing() -> str | None:
    """Return None where Slurm is installed, and otherwise how to get it."""
    programs = (*DAEMONS[:3], "sbatch")
    lacks = next((name for name in programs if not shutil.which(name, path=_path(os.environ["PATH"]))), None)
    return lacks and f"Slurm is not installed: there is no {lacks}. Install it: apt-get install slurm-wlm munge"


@dataclass(frozen=True)
class Job:
    """A job as the controller describes it.

    Attributes:
        state: PENDING, RUNNING, COMPLETING, COMPLETED, FAILED, CANCELLED, TIMEOUT, NODE_FAIL, ...
        nodes: that it runs on or last ran on, as Slurm writes them: node[1-2]. Empty before its first start.
        restarts: how often it was requeued.
        status: the exit status of its script, or a signal's number as a negative.
    """

    state: str
    nodes: str
    restarts: int
    status: int


class Slurm:
    """Slurm on a cluster's hosts; up() makes it.

    Attributes:
        cluster: the hosts.
    """

    def __init__(self, cluster: Cluster, gpus: int = 0):
        """Write the configuration and start all daemons.

        Args:
            cluster: the hosts.
            gpus: of each node: see up().

        Raises:
            HostsError: Slurm is not installed, or a daemon does not start; the message says which.
        """
        self.cluster = cluster
        why = missing()
        if why:
            raise HostsError(why)
        folder = cluster.seen_from_outside(HEAD, FOLDER)
        folder.mkdir(exist_ok=True)
        nodes = [f"NodeName={host} CPUs={slots} State=UNKNOWN" for host, slots in cluster.slots.items()]
        settings = _SETTINGS.format(user=pwd.getpwuid(os.geteuid()).pw_name)
        if gpus:
            nodes = [f"{node} RealMemory={MEMORY} Gres=gpu:{gpus}" for node in nodes]
            settings += "GresTypes=gpu\n"
            devices = [f"Name=gpu File={device} Flags=nvidia_gpu_env" for device in DEVICES[:gpus]]
            (folder / "gres.conf").write_text("\n".join([*devices, ""]))
        (folder / CONFIGURATION.name).write_text(settings + "\n".join([*nodes, ""]))
        epilog = folder / EPILOG.name
        epilog.write_text(_EPILOG)
        epilog.chmod(0o755)
        key = folder / KEY.name
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        cluster.variables["SLURM_CONF"] = str(CONFIGURATION)
        cluster.variables["PATH"] = _path(cluster.variables["PATH"])
        self._start(HEAD, ["slurmctld", "-f", str(CONFIGURATION)])
        for host in cluster.hosts:
            self.start(host)

    def start(self, host: str) -> None:
        """Start the daemons of a node: its host has been revived, and nothing runs there.

        Raises:
            HostsError: there is no such host, it is down, or a daemon does not start.
        """
        self._start(host, ["slurmd", "-N", host, "-f", str(CONFIGURATION)])

    def states(self) -> dict[str, str]:
        """Return the state of each node, as sinfo names it: idle, allocated, mixed, draining, drained, down, ...

        A state that ends with * is that of a node which does not answer.

        Raises:
            HostsError: the controller does not answer.
        """
        lines = self.ask("sinfo", "--noheader", "--Node", "--format", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def submit(self, *arguments: str) -> int:
        """Submit a batch job and return its number.

        Args:
            arguments: of sbatch.

        Raises:
            HostsError: sbatch refuses it; the message says why.
        """
        return int(self.ask("sbatch", "--parsable", *arguments))

    def job(self, number: int) -> Job:
        """Return what the controller says about a job, which it remembers for five minutes after the end.

        Raises:
            HostsError: there is no such job.
        """
        fields = "State:|,NodeList:|,RestartCnt:|,exit_code:"
        line = self.ask("squeue", "--noheader", "--states", "all", "--jobs", str(number), "--Format", fields)
        state, nodes, restarts, status = (field.strip() for field in line.split("|"))
        return Job(state, nodes, int(restarts), os.waitstatus_to_exitcode(int(status)))

    def wait(self, number: int, until: Callable[[Job], bool], timeout: float = PATIENCE) -> Job:
        """Wait until something is true of a job, and return the job.

        Raises:
            HostsError: it is not, after so many seconds.
        """
        end = time.monotonic() + timeout
        while not until(job := self.job(number)):
            if time.monotonic() > end:
                raise HostsError(f"Job {number} is {job.state} after {timeout:.0f} s.")
            time.sleep(0.2)
        return job

    def wait_until_empty(self, timeout: float = PATIENCE) -> None:
        """Wait until all jobs have ended.

        Raises:
            HostsError: some have not, after so many seconds.
        """
        end = time.monotonic() + timeout
        while left := self.ask("squeue", "--noheader"):
            if time.monotonic() > end:
                raise HostsError(f"After {timeout:.0f} s, these jobs have not ended:\n{left}")
            time.sleep(0.2)

    def names(self, nodes: str) -> tuple[str, ...]:
        """Return the names of nodes that Slurm writes in short: node[1-2] are node1 and node2.

        Raises:
            HostsError: Slurm does not write nodes so.
        """
        if "[" not in nodes:
            return tuple(nodes.split(","))
        return tuple(self.ask("scontrol", "show", "hostnames", nodes).split())

    def start_now(self, number: int) -> None:
        """Let a requeued job start in two seconds, if there are nodes: by itself, Slurm waits for two minutes.

        A node does not start a job in the second in which it has ended an earlier run of the same job.

        Raises:
            HostsError: there is no such job.
        """
        self.ask("scontrol", "update", f"JobId={number}", "StartTime=now+2")

    def ask(self, *command: str) -> str:
        """Run one of Slurm's commands on the head, and return what it prints.

        Raises:
            HostsError: it fails; the message has what it printed.
        """
        done = self.cluster.run(command, say=lambda line: None, timeout=PATIENCE)
        if done.returncode:
            raise HostsError(f"{command[0]} fails: {done.stdout.strip()}")
        return done.stdout

    def wait_until_idle(self, nodes: Sequence[str], timeout: float = PATIENCE) -> None:
        """Wait until these nodes are idle.

        Raises:
            HostsError: one of them is not, after so many seconds.
        """
        end = time.monotonic() + timeout
        while True:
            try:
                found = self.states()
                late = [f"{node} is {found[node]}" for node in nodes if found[node] != "idle"]
            except HostsError as error:  # the controller has just been started
                late = [str(error)]
            if not late:
                return
            if time.monotonic() > end:
                raise HostsError(f"Slurm's nodes are not ready after {timeout:.0f} s: {', '.join(late)}.")
            time.sleep(0.2)

    def _start(self, host: str, daemon: Sequence[str]) -> None:
        """Start munged, and then a daemon that needs it; each returns when it is in the background."""
        munged = ["munged", "--force", "--key-file", str(KEY), "--socket", str(SOCKET)]
        munged += [part for kind in ("pid", "log", "seed") for part in (f"--{kind}-file", f"{OWN}/munged.{kind}")]
        script = f"mkdir -p {OWN}/state {OWN}/spool && {' '.join(munged)} && {' '.join(daemon)}"
        done = self.cluster.run(["sh", "-c", script], host, say=lambda line: None, timeout=PATIENCE)
        if done.returncode:
            raise HostsError(f"{daemon[0]} does not start on {host}: {done.stdout.strip()}")

    def end(self) -> None:
        """Kill the daemons and what they have started: all jobs."""
        killed = []
        for processes in self.cluster.processes().values():
            for daemon in processes:
                with contextlib.suppress(psutil.Error):  # it has ended
                    if daemon.name() in DAEMONS:
                        killed += [daemon, *daemon.children(recursive=True)]
        for process in killed:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(killed)


@contextlib.contextmanager
def up(cluster: Cluster, gpus: int = 0) -> Iterator[Slurm]:
    """Start Slurm on the hosts of a cluster, wait until all of its nodes are idle, and end it with the context.

    The cluster's commands find it by the variable SLURM_CONF.

    Args:
        cluster: the hosts, which are up.
        gpus: that Slurm manages on each node, at most as many as DEVICES. They exist in its books only.

    Raises:
        HostsError: Slurm is not installed, or does not start; the message says why.
    """
    slurm = Slurm(cluster, gpus)
    try:
        slurm.wait_until_idle(cluster.hosts)
        yield slurm
    finally:
        slurm.end()


def _path(path: str) -> str:
    """Return a PATH with the folders of daemons, which an ordinary user's may lack."""
    return os.pathsep.join([path, "/usr/sbin", "/sbin"])
