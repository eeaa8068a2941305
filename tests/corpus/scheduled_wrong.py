"""Wrong scripts of step 19, job.sbatch, each with the check that is the first to fail."""

from course.steps import get
from tests.corpus.scheduled_passages import (
    AGAIN,
    APPEND,
    COPY,
    END,
    FOLDER,
    OUTPUT,
    REMOVE,
    REQUEUE,
    SIGNAL,
    STAGE,
    START,
    STATUS,
    TIME,
    WAIT,
)
from tests.corpus.variant import Variant, wrong

_IN_FRONT = 'status=0\nmpirun --mca btl_tcp_if_include "$DATA_NETWORK" -x DATA -x CHECKPOINTS "$@" || status=$?\n'
_NOT_COPIED = "copy=/scratch/none\n"
_OWN = "$CHECKPOINTS/$SLURM_JOB_ID"
_LOCAL = 'mpirun --host "$(hostname):9" --map-by'
_PASSED_ON = """    if training:
        training.send_signal(signal.SIGUSR1)  # mpirun passes the signal on to the ranks
"""
_STATUS = "sys.exit(status if status >= 0 else 1)\n"
_NETWORK = ' --mca btl_tcp_if_include "$DATA_NETWORK"'


def _wrong(name: str, check: str, *edits: tuple[str, str], in_ci: bool = False) -> Variant:
    """Return a row whose first failing check is this one of step 19; without one, the script does not run."""
    return wrong(19, name, fails=19 if check else 0, check=check, in_ci=in_ci)(*edits)


WRONG = [
    wrong(19, "starter", check="ranks", base=get(19).starter_name)(),
    wrong(19, "starter in Python", check="ranks", base="hosts/job_starter.py")(),
    wrong(19, "in Python, the signal is not passed on", check="signal", base="hosts/job.py")((_PASSED_ON, "")),
    wrong(19, "in Python, the status is thrown away", check="status", base="hosts/job.py")((_STATUS, "sys.exit()\n")),
    _wrong("one rank per node", "ranks", ("--map-by slot", "--map-by ppr:1:node")),
    _wrong("all ranks on the first node", "ranks", ("mpirun --map-by", _LOCAL)),
    _wrong("srun starts the ranks", "ranks", (START, 'srun "$@" &\n')),
    _wrong("arguments are split at spaces", "arguments", (' "$@" &', " $@ &")),
    _wrong("arguments become one", "arguments", (' "$@" &', ' "${@:1:3}" "${*:4}" &')),
    _wrong("no network is named", "network", (_NETWORK, "")),
    _wrong("the interface of the lesson", "network", ('"$DATA_NETWORK" -x', "eth0 -x")),
    _wrong("the data stay where they are", "staged", (STAGE, _NOT_COPIED)),
    _wrong("the data are copied to the first node only", "staged", (COPY, 'cp -r "$DATA" "$copy"\n')),
    _wrong("DATA names the shared folder", "staged", ("export DATA=$copy\n", "")),
    _wrong("the copies are left", "staged", (REMOVE, "")),
    _wrong("the copy of the first node is removed", "staged", (REMOVE, 'rm -rf "$copy"\n')),
    _wrong("one folder for all jobs", "checkpoints", (FOLDER, "")),
    _wrong("a folder with the job's name", "checkpoints", (_OWN, "$CHECKPOINTS/$SLURM_JOB_NAME")),
    _wrong("a folder per run", "checkpoints", (_OWN, f"{_OWN}-${{SLURM_RESTART_COUNT:-0}}")),
    _wrong("checkpoints on the node's own disk", "checkpoints", (_OWN, "/scratch/checkpoints")),
    _wrong("the status is thrown away", "status", (END, "exit 0\n")),
    _wrong("the status is that of a test", "status", (END, 'echo "status $status"\n')),
    _wrong("a training that fails is requeued", "status", ("$asked_to_end && $status == 0", "$status != 0")),
    _wrong("no time limit", "limit", (TIME, "")),
    _wrong("a time limit of one minute", "limit", (TIME, "#SBATCH --time=1\n")),
    _wrong("the job may not be requeued", "requeued", (REQUEUE, "")),
    _wrong("a later run erases the output", "output", (APPEND, "")),
    _wrong("the output file has no number", "output", (OUTPUT, "#SBATCH --output=%x.out\n")),
    _wrong("no signal", "signal", (SIGNAL, "")),
    _wrong("the signal comes too late", "signal", (SIGNAL, "#SBATCH --signal=B:USR1@20\n")),
    _wrong("the signal goes to the steps alone", "signal", (SIGNAL, "#SBATCH --signal=USR1@120\n")),
    _wrong("the script waits for another signal", "signal", ("trap ask_to_end USR1", "trap ask_to_end TERM")),
    _wrong(
        "the training runs in the foreground",
        "signal",
        (START, _IN_FRONT),
        ("    training=$!\n", ""),
        (WAIT, "true\n"),
        (STATUS, ""),
    ),
    _wrong("the signal is not passed on", "signal", ('    [[ ! $training ]] || kill -USR1 "$training"\n', "")),
    _wrong("the ranks are killed", "signal", ('kill -USR1 "$training"', 'kill -KILL "$training"')),
    _wrong(
        "the script requeues the job at once", "signal", ('kill -USR1 "$training"', 'scontrol requeue "$SLURM_JOB_ID"')
    ),
    _wrong("the job is not requeued", "signal", (AGAIN, "")),
    _wrong("the number of another job", "signal", ('scontrol requeue "$SLURM_JOB_ID"', "scontrol requeue 77")),
    _wrong("a quote is missing", "", ('"$SLURM_JOB_ID"\n    fi', '"$SLURM_JOB_ID\n    fi')),
    _wrong("a partition that does not exist", "", ("--partition=long", "--partition=large")),
    _wrong("the program is not started", "", (START, "true &\n")),
]
