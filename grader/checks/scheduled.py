"""The part of job.sbatch, step 19: a batch script that trains under Slurm, and continues after an interruption.

It is submitted on nodes that it has never seen, and starts a small program of the judge's there. What it is judged by
is seen from outside of it: see grader.watchers.job_watcher.
"""

import os
import re
from pathlib import Path

from grader.checks import on_hosts
from grader.checks.on_hosts import DATA, MANAGEMENT, MPIRUN, of
from grader.checks.part import Part
from grader.reading import shell
from grader.reading.parsing import Source
from grader.terms.clusters import Watched
from grader.terms.findings import Finding, listed
from grader.terms.runs import JobRuns
from grader.terms.watched_facts import JobFacts, SeenRank


def _cluster(name: str, description: str, hosts: int = 2, reserved: bool = True) -> Watched:
    return on_hosts.cluster("job_watcher", name, description, hosts, reserved)


STEADY = _cluster("steady", "2 nodes with 2 tasks each", 3, reserved=False)
FAILING = _cluster("failing", "2 nodes, on one of which a rank fails")
MOVED = _cluster("moved", "4 nodes, of which one is drained and then one is lost", 4)
LIMIT = _cluster("limit", "2 nodes, and a time limit that comes")


def _failure(runs: JobRuns) -> Finding | None:
    """Return why the job did not run to its end where nothing happens to its nodes, if so."""
    ran = of(runs, STEADY)
    if ran.facts.refused and not ran.facts.syntax:
        seen = f"Slurm does not take the job: {ran.facts.refused.splitlines()[-1]}"
        return Finding(seen=seen, expected="sbatch prints the number of a job")
    return on_hosts.failure(ran, "job", f"as {ran.facts.state}, with status {ran.exit}", "as COMPLETED, with status 0")


part = Part("job.sbatch", JobFacts, read=shell.read, ended=on_hosts.ends(_failure))


@part.check(
    19,
    points=1,
    clusters=(STEADY, FAILING, MOVED, LIMIT),
    asks=("start one rank per task, on all nodes of the job",),
    look_at=MPIRUN,
    hint="Without -np and a hostfile, mpirun asks Slurm for the nodes and tasks of the job.",
)
def ranks(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """On each node of the job, as many ranks are started as it has tasks there."""
    return on_hosts.wrong_ranks(of(runs, STEADY), of(expected, STEADY))


@part.check(
    19,
    points=1,
    asks=("with the program's arguments unchanged",),
    look_at=MPIRUN,
    hint='"$@", in quotes, is one word per argument; $* and $@ without quotes are not.',
)
def arguments(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """Each rank has the arguments that the script was given for the program."""
    return on_hosts.other_arguments(of(runs, STEADY), of(expected, STEADY))


@part.check(
    19,
    points=1,
    asks=("Exchange tensors over the network that `DATA_NETWORK` names",),
    look_at=("btl_tcp_if_include", *MPIRUN),
    hint="btl_tcp_if_include takes a network such as 10.77.0.0/24, too.",
)
def network(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """Tensors travel over the network that DATA_NETWORK names."""
    odd = on_hosts.other_network(of(runs, STEADY), of(expected, STEADY), DATA, MANAGEMENT)
    return odd or on_hosts.other_network(of(runs, FAILING), of(expected, FAILING), MANAGEMENT, DATA)


@part.check(
    19,
    points=1,
    asks=(
        "copy the folder `DATA` to each node's own disk",
        "`DATA` names the copy",
        "remove the copies",
    ),
    look_at=("DATA", *MPIRUN),
    hint="srun runs cp on each node, and later rm. Then DATA is exported with another value.",
)
def staged(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """DATA points each rank to a copy on its own node's disk, which is removed at the end."""
    ran = of(runs, STEADY)
    if odd := on_hosts.not_staged(ran):
        return odd
    if ran.facts.copies:
        seen = f"The job has ended, and a copy is still on {listed(ran.facts.copies)}"
        return Finding(seen=seen, expected="none", line=source.line_of("rm"))
    return None


@part.check(
    19,
    points=1,
    asks=("let `CHECKPOINTS` name a folder below the given one: one per job, and the same in each run of the job",),
    look_at=("CHECKPOINTS", *MPIRUN),
    hint="A requeued job keeps its number, SLURM_JOB_ID. Each rank has the variables that the script exports.",
)
def checkpoints(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """CHECKPOINTS names a folder of the job's own, the same for all ranks and in each run."""
    ran = of(runs, STEADY)
    ranks = ran.facts.first.ranks
    given = Path(_folder(of(expected, STEADY).facts.first.ranks[0])).parent
    for rank in ranks:
        if not Path(os.path.normpath(_folder(rank))).is_relative_to(given):
            place = f"'{_folder(rank)}'" if _folder(rank) else "nothing"
            seen = f"On {rank.host}, CHECKPOINTS is {place}"
            return Finding(seen=seen, expected=f"a folder below the one that was given, '{given}'")
    if len(set(map(_folder, ranks))) > 1:
        seen = "CHECKPOINTS differs from rank to rank"
        return Finding(seen=seen, expected="one folder for all ranks of the job")
    if ranks and _folder(ranks[0]) == ran.facts.other:
        seen = f"CHECKPOINTS is '{ran.facts.other}' in two jobs"
        return Finding(seen=seen, expected="a folder of each job's own")
    folders = [_folder(rank) for run in of(runs, MOVED).facts.runs for rank in run.ranks]
    if len(set(folders)) > 1:
        seen = f"CHECKPOINTS is '{folders[0]}' in one run of the job and '{folders[-1]}' in a later one"
        return Finding(seen=seen, expected="the same folder")
    return on_hosts.unseen(ran)


def _folder(rank: SeenRank) -> str:
    return rank.variables.get("CHECKPOINTS", "")


@part.check(
    19,
    points=1,
    asks=("Otherwise, exit with the status of the training",),
    look_at=("exit", "wait", *MPIRUN),
    hint='After `wait PID`, $? has the status of that process. It is the last command, or `exit "$status"`.',
)
def status(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """A job whose training fails ends as failed, and is not requeued."""
    ran = of(runs, FAILING)
    if nothing := on_hosts.unseen(ran):
        return nothing
    if ran.ended_for or ran.facts.state != "FAILED":
        how = "does not end" if ran.ended_for else f"ends as {ran.facts.state}"
        seen = f"A rank fails with status 3, and the job {how} ({ran.cluster})"
        return Finding(seen=seen, expected="FAILED")
    return None


@part.check(
    19,
    points=1,
    asks=("Ask for a time limit of one hour",),
    look_at=("--time", "-t"),
    hint="A line #SBATCH --time=… among the first ones of the script.",
)
def limit(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """The job has a time limit of one hour."""
    found, wanted = (of(each, STEADY).facts.limit for each in (runs, expected))
    if found != wanted:
        return Finding(seen=f"The job's time limit is {found}, as Slurm writes it", expected=wanted)
    return None


@part.check(
    19,
    points=1,
    asks=("Have Slurm requeue the job when a node is lost", "Slurm does not restart a script that has ended by then"),
    look_at=("--requeue",),
    hint="sbatch has an option for it, which can be a line #SBATCH of the script, too. After mpirun has ended, an srun "
    "on all nodes waits until Slurm knows that one is lost.",
)
def requeued(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """A job whose node is drained or lost runs again on other nodes, and finds its checkpoints."""
    ran = of(runs, MOVED)
    if nothing := on_hosts.unseen(ran):
        return nothing
    wanted = of(expected, MOVED).facts.runs
    what = ["", "After a node was drained and the job requeued,", "After a node was lost,"]
    for number in range(1, len(wanted)):
        if len(ran.facts.runs) <= number:
            failed = f": the script ended with status {ran.exit}" * (ran.facts.state == "FAILED")
            seen = f"{what[number]} the job did not run again; its state is {ran.facts.state}{failed}"
            return Finding(seen=seen, expected="it runs again on the other nodes")
        run, checkpoints = ran.facts.runs[number], wanted[number].ranks[0].found
        if not run.met:
            seen = f"{what[number]} the job started again on {listed(run.nodes)}, and its ranks never exchanged data"
            return Finding(seen=seen, expected="one training of all ranks")
        if any(not set(checkpoints) <= set(rank.found) for rank in run.ranks):
            seen = f"{what[number]} the next run finds these checkpoints: {run.ranks[0].found}"
            return Finding(seen=seen, expected=f"{checkpoints}", line=source.line_of("CHECKPOINTS"))
    if ran.facts.state != "COMPLETED":
        seen = f"The last run of the job ends as {ran.facts.state} ({ran.cluster})"
        return Finding(seen=seen, expected="COMPLETED")
    return None


@part.check(
    19,
    points=1,
    asks=(
        "Send the output of all runs of the job to one file, with the job's number in its name",
        "A later run must not erase what an earlier one has printed",
    ),
    look_at=("--open-mode", "--output", "-o"),
    needs=(requeued,),
    hint="%j stands for the number. --open-mode says what happens to a file that is there.",
)
def output(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """The output of all runs is in one file, with the job's number in its name."""
    ran = of(runs, MOVED)
    name = Path(ran.facts.output).name
    if not re.search(rf"(?<!\d){ran.facts.number}(?!\d)", name):
        seen = f"The output of job {ran.facts.number} goes to {name}, and so does that of any other job of the script"
        return Finding(seen=seen, expected="the job's number in the name", line=source.line_of("--output", "-o"))
    wanted = of(expected, MOVED).facts.printed
    if ran.facts.printed != wanted:
        there = listed([run + 1 for run in ran.facts.printed]) or "none"
        seen = f"The job ran {len(wanted)} times, and at the end its file has the output of these runs: {there}"
        return Finding(seen=seen, expected="that of all runs")
    return None


@part.check(
    19,
    points=1,
    asks=(
        "for the signal `SIGUSR1` to the script two minutes before it",
        "forward it to the ranks, and wait until the training has ended",
        "If the script was asked to end, requeue the job",
    ),
    look_at=("trap", "--signal"),
    hint="The trap runs only if no command runs in the foreground but wait. After the trap, wait returns although the "
    "training still runs. scontrol requeue needs the job's number.",
)
def signal(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """Before its time limit, the job saves a checkpoint, and continues from it in another run."""
    ran = of(runs, LIMIT)
    if nothing := on_hosts.unseen(ran):
        return nothing
    if len(ran.facts.runs) < 2:
        seen = f"The job's time limit was set to two minutes. It did not run again; its state is {ran.facts.state}"
        return Finding(seen=seen, expected="it is signalled, saves a checkpoint and is requeued")
    run = ran.facts.runs[1]
    if not run.met:
        seen = "After the signal, the job ran again, and its ranks never exchanged data"
        return Finding(seen=seen, expected="training continues from the checkpoint")
    if not set(of(expected, LIMIT).facts.runs[1].ranks[0].found) <= set(run.ranks[0].found):
        seen = "The job was requeued before its time limit, and no rank had saved a checkpoint on SIGUSR1"
        return Finding(seen=seen, expected="the ranks get the signal, and the script waits for their end")
    if ran.facts.state != "COMPLETED":
        return Finding(seen=f"The last run of the job ends as {ran.facts.state}", expected="COMPLETED")
    return None
