"""What watchers see of scripts for several hosts, from outside: one definition for the writer and the judge."""

from msgspec import Struct

from grader.terms.facts import Error


class SeenRank(Struct):
    """A rank of grader.watchers.mpi_rank, as its host shows it."""

    host: str
    arguments: list[str]
    data: str  # the folder that it is pointed to, or ""
    copied: str  # whose disk the data there are on: "own" of its host, "shared", or "none" if they are not the same


class Launched(SeenRank):
    """A rank that a launch script started."""

    variables: dict[str, str | None]  # those that the script was given for the program


class LaunchFacts(Struct, forbid_unknown_fields=True):
    """What a launch script did, seen from outside: see grader.watchers.launch_watcher."""

    syntax: str = ""  # what bash says of it before it runs
    ranks: list[Launched] = []
    met: bool = False  # as many ranks as there are slots have exchanged data, all of them with each other
    received: dict[str, int] = {}  # bytes on all hosts together, by interface
    seconds: float | None = None  # from what happened to a host until the script ended by itself
    named: list[str] = []  # hosts, in what it printed after that
    left: list[str] = []  # hosts on which processes still run some seconds after its end
    error: Error | None = None


class SeenTask(SeenRank):
    """A rank of a job."""

    checkpoints: str  # the folder for checkpoints that it is pointed to, or ""
    below: bool  # whether this folder is in the one that the script was given
    found: list[str]  # checkpoints of earlier runs in it
    asked: bool  # whether one of these was saved because the ranks were asked to end


class SeenRun(Struct):
    """A run of a job: from a start of its script to the next one, or to the end."""

    nodes: list[str]
    ranks: list[SeenTask] = []
    met: bool = False  # as many ranks as there are tasks have exchanged data, all of them with each other


class JobFacts(Struct, forbid_unknown_fields=True):
    """What a batch script did under Slurm, seen from outside: see grader.watchers.job_watcher."""

    syntax: str = ""  # what bash says of it before it runs
    refused: str = ""  # what sbatch says, if it does not take it
    number: int = 0  # of the job
    limit: str = ""  # of its time, as Slurm writes it
    output: str = ""  # the path of its output file
    printed: list[int] = []  # the runs whose output is there at the end, from 0
    runs: list[SeenRun] = []
    other: str = ""  # the folder for checkpoints of another job of the same script
    received: dict[str, int] = {}  # bytes on all hosts together, by interface
    state: str = ""  # of the job at the end, as Slurm names it, or REQUEUED
    left: list[str] = []  # hosts on whose disks data are left at the end
    error: Error | None = None


# --- What a watcher sees of an elastic training -----------------------------------------------------------------------


class Presence(Struct, forbid_unknown_fields=True):
    """On which hosts ranks are, from a moment on."""

    seconds: float  # since the start
    ranks: dict[str, int]  # by host


class Logged(Struct, forbid_unknown_fields=True):
    """A commit, as the training logs it."""

    ranks: int
    epoch: int
    seen: int


class ElasticFacts(Struct, forbid_unknown_fields=True):
    """What an elastic training did, seen from outside: see grader.watchers.elastic_watcher."""

    presence: list[Presence] = []
    happened: float | None = None  # when the host died or came; None: there was no training that it could happen to
    received: int = 0  # bytes on the first host after that
    seconds: float = 0.0  # of the whole training
    logged: int = 0  # commits by then
    commits: list[Logged] = []  # untrusted
    uses: list[float] = []  # of each image, in the model that was saved; empty: none was
    astray: int = 0  # images that have moved its weights in other directions than those to start from say
    error: Error | None = None
