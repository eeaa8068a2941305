"""What watchers see of scripts for several hosts, from outside: one definition for the writer and the judge."""

from typing import Any, Literal

from msgspec import Struct

from grader.terms.facts import Error

# --- What watchers see of a script that starts grader.watchers.mpi_rank -----------------------------------------------


class SeenRank(Struct, forbid_unknown_fields=True):
    """A rank, as its host shows it."""

    host: str
    arguments: list[str]
    variables: dict[str, str] = {}  # of grader.watchers.mpi_program.VARIABLES, those that it has
    copied: str = "none"  # whose disk has the data that DATA names: "own" of its host, "shared", or "none" without data
    found: list[str] = []  # checkpoints of earlier runs in the folder that CHECKPOINTS names


class SeenRun(Struct, forbid_unknown_fields=True):
    """What a script has started; a job, from one start of its script to the next one."""

    nodes: list[str] = []  # that Slurm has given the job
    ranks: list[SeenRank] = []
    met: bool = False  # as many ranks as there are slots or tasks have exchanged data, all of them with each other


class ScriptFacts(Struct, forbid_unknown_fields=True):
    """What a script for several hosts did."""

    syntax: str = ""  # what bash says of it before it runs
    runs: list[SeenRun] = []
    received: dict[str, int] = {}  # bytes on all hosts together, by interface
    error: Error | None = None

    @property
    def first(self) -> SeenRun:
        """The first run."""
        return self.runs[0] if self.runs else SeenRun()


class LaunchFacts(ScriptFacts, forbid_unknown_fields=True):
    """What a launch script did: see grader.watchers.launch_watcher. It has one run."""

    seconds: float | None = None  # from what happened to a host until the script ended by itself
    named: list[str] = []  # hosts, in what it printed after that
    running: list[str] = []  # hosts on which processes still run some seconds after its end


class JobFacts(ScriptFacts, forbid_unknown_fields=True):
    """What a batch script did under Slurm: see grader.watchers.job_watcher."""

    refused: str = ""  # what sbatch says, if it does not take it
    number: int = 0  # of the job
    limit: str = ""  # of its time, as Slurm writes it
    output: str = ""  # the path of its output file
    printed: list[int] = []  # the runs whose output is there at the end, from 0
    other: str = ""  # the folder for checkpoints of another job of the same script
    state: str = ""  # of the job at the end, as Slurm names it, or REQUEUED
    copies: list[str] = []  # hosts on whose disks data are left at the end


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
    """What an elastic training did: see grader.watchers.elastic_watcher."""

    presence: list[Presence] = []
    happened: float | None = None  # when the host died or came; None: there was no training that it could happen to
    received: int = 0  # bytes on the first host after that
    seconds: float = 0.0  # of the whole training
    commits: list[Logged] = []  # untrusted
    uses: list[float] = []  # of each image, in the model that was saved; empty: none was
    astray: int = 0  # images that have moved its weights in other directions than those to start from say
    error: Error | None = None


# --- What a watcher sees of an allreduce ------------------------------------------------------------------------------

Kind = Literal["float32", "float64", ""]  # "": before the first case
Into = Literal["new", "array", "other"]  # what takes the sum: a new array, the function's own argument, or another one


class Case(Struct, forbid_unknown_fields=True, frozen=True):
    """An array that step 21's function has to sum."""

    ranks: int
    length: int
    kind: Kind  # of its elements
    into: Into


class Attempt(Struct, forbid_unknown_fields=True):
    """What one rank did in a case: see grader.watchers.allreduce_rank."""

    case: Case
    rank: int
    ended: bool = False
    messages: int = 0  # that it sent, as Open MPI counts them
    bytes: int = 0
    returned: str = ""  # what the function returned, if that is no array of the right length and type
    first: int | None = None  # element that is not the sum, of the first that are wrong in the same way
    last: int | None = None
    wrong: int = 0  # elements that are not the sum
    times: list[int] = []  # how often each rank's value is in these first ones; empty: they are something else
    changed: bool = False  # whether an array that was to stay as it is has changed
    elsewhere: bool = False  # whether `out` has other elements than the array that was returned
    line: int | None = None  # where it was when it had to be ended
    error: Error | None = None


class AllreduceFacts(Struct, forbid_unknown_fields=True):
    """What step 21's function did: see grader.watchers.allreduce_watcher."""

    attempts: list[Attempt] = []  # by case, then rank
    error: Error | None = None


# --- What a watcher sees of a prediction ------------------------------------------------------------------------------


class StepCase(Struct, forbid_unknown_fields=True, frozen=True):
    """The arguments of step 22's function step_seconds, in its order."""

    gradient_bytes: float
    ranks: int
    alpha: float
    beta: float
    compute: float
    overlap: float
    algorithm: str


class Returned(Struct, forbid_unknown_fields=True):
    """What a function returned."""

    numbers: list[float] = []  # one, or those of a sequence; empty: it returned no numbers, or failed
    shown: str = ""  # as Python shows it
    error: Error | None = None


class StepAnswer(Struct, forbid_unknown_fields=True):
    """What step_seconds returned."""

    case: StepCase
    returned: Returned


class FitAnswer(Struct, forbid_unknown_fields=True):
    """What step 22's function fit returned for seconds that were calculated with this network."""

    alpha: float
    beta: float
    measured: int  # allreduces
    returned: Returned


class NetworkAnswer(Struct, forbid_unknown_fields=True):
    """What both functions returned for hosts on which the watcher has measured allreduces, and then a step."""

    ranks: int
    rate: str  # of the network: "150mbit"
    measured: float  # seconds of the step
    model: float  # seconds, as course.scaling predicts them from the same allreduces
    fitted: Returned
    predicted: Returned


class PredictionFacts(Struct, forbid_unknown_fields=True):
    """What step 22's functions did: see grader.watchers.prediction_watcher."""

    steps: list[StepAnswer] = []
    fits: list[FitAnswer] = []
    network: NetworkAnswer | None = None
    error: Error | None = None


# --- What a watcher sees of the job of a hunt -------------------------------------------------------------------------


class HuntFacts(Struct, forbid_unknown_fields=True):
    """What the job of a case did: see grader.watchers.hunt_watcher."""

    result: dict[str, Any] = {}  # that its program printed


# --- What a watcher sees of a training that is to be faster -----------------------------------------------------------


class Trained(Struct, forbid_unknown_fields=True):
    """What a training on two hosts cost, and what it reached: see course.faster.training."""

    size: int  # ranks of the job, as Horovod counts
    updates: int  # of the weights
    images: int  # that all ranks have trained on
    seconds: float  # of all batches, on the slowest rank
    received: int  # bytes, on one host
    exchanges: int  # allreduces of one tensor, or of several that Horovod has fused
    communication: float  # seconds that these bytes and exchanges take, by the model of step 22
    loss: float | None  # on the test images, after training; None where it was not evaluated
    evaluated: int  # test images
    apart: bool  # whether the ranks have different weights at the end


class FasterFacts(Struct, forbid_unknown_fields=True):
    """What step 24's program and that of step 6 did: see grader.watchers.faster_watcher."""

    before: Trained | None = None  # a short training with step 6's program
    after: Trained | None = None  # a whole one with the script; None: it did not reach its end on all ranks
    busy: bool = False  # whether other programs took so much of the machine that its seconds prove nothing
    error: Error | None = None
