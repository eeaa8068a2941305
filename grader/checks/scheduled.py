"""The part of job.sbatch, step 19: a batch script that trains under Slurm, and continues after an interruption.

It is submitted on nodes that it has never seen, and starts a small program of the judge's there. What it is judged by
is seen from outside of it: see grader.watchers.job_watcher.
"""

import re
from collections import Counter
from pathlib import Path

from grader.checks import ending
from grader.checks.on_hosts import (
    DATA,
    MANAGEMENT,
    MPIRUN,
    cluster,
    invalid,
    listed,
    not_staged,
    of,
    other_arguments,
    other_network,
    said,
)
from grader.checks.part import Part
from grader.reading import shell
from grader.reading.parsing import Source
from grader.terms.findings import Finding, Untold
from grader.terms.report import Outcome
from grader.terms.runs import JobRank, JobRuns
from grader.terms.watched_facts import JobFacts, SeenRun

part = Part("job.sbatch", JobFacts, read=shell.read)

STEADY = cluster("slurm_job", "steady", "2 nodes with 2 tasks each", 3, reserved=False)
FAILING = cluster("slurm_job", "failing", "2 nodes, on one of which a rank fails", 2)
MOVED = cluster("slurm_job", "moved", "4 nodes, of which one is drained and then one is lost", 4)
LIMIT = cluster("slurm_job", "limit", "2 nodes, and a time limit that comes", 2)


def ended(runs: JobRuns, step: int, seconds: float, script: str) -> Outcome:
    """Return how the job ended where nothing happens to its nodes."""
    ran = of(runs, STEADY)
    facts = ran.facts
    refused = invalid(facts.syntax, step)
    if refused:
        return refused
    if facts.refused:
        return ending.outcome("failed", step, f"Slurm does not take the job: {facts.refused.splitlines()[-1]}")
    ranks = sum(len(run.ranks) for run in facts.runs)
    started = f"{ranks} ranks were started" if ranks else "no rank was started"
    if ran.ended_for:
        return ending.outcome("failed", step, f"The job does not end ({ran.cluster}): {started}.{said(ran)}")
    if facts.state != "COMPLETED":
        message = f"The job ends as {facts.state}, with status {ran.exit} ({ran.cluster}); {started}. Expected: "
        return ending.outcome("failed", step, f"{message}COMPLETED.{said(ran)}")
    if not ranks:
        return ending.outcome("failed", step, f"The job ends without starting a rank ({ran.cluster}).{said(ran)}")
    return ending.outcome("passed", step, "Correct.")


part.ended = ended


def _first(ran: JobRank) -> SeenRun:
    """Return the first run of a job."""
    return ran.facts.runs[0] if ran.facts.runs else SeenRun([])


def _not_met(ran: JobRank) -> Finding | None:
    """Return why there is nothing to see, where not all ranks of the first run have exchanged data."""
    if _first(ran).met:
        return None
    return Untold(seen=f"the ranks never exchanged data ({ran.cluster}).")


@part.check(
    19,
    points=1,
    clusters=(STEADY, FAILING, MOVED, LIMIT),
    asks=("Start one rank per task, on all nodes of the job",),
    hint="Without -np and a hostfile, mpirun asks Slurm for the nodes and tasks of the job.",
)
def ranks(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """On each node of the job, as many ranks are started as it has tasks there."""
    ran = of(runs, STEADY)
    run, wanted = _first(ran), _first(of(expected, STEADY))
    if not run.ranks:
        return Untold(seen=f"no rank was started ({ran.cluster}).")
    found = Counter(rank.host for rank in run.ranks)
    each = len(wanted.ranks) // len(wanted.nodes)
    if found != dict.fromkeys(run.nodes, each):
        nodes = " and ".join(run.nodes)
        message = f"The job has {each} tasks on each of {nodes}, and ranks were started so: {listed(found)}."
        return Finding(seen=f"{message} Expected: {each} on each node.", line=source.line_of(*MPIRUN))
    if not run.met:
        message = f"{len(run.ranks)} ranks were started, and never exchanged data with each other."
        return Finding(seen=f"{message} Expected: one training of all ranks.", line=source.line_of(*MPIRUN))
    return None


@part.check(
    19,
    points=1,
    asks=("with the program's arguments as they are",),
    hint='"$@", in quotes, is one word per argument; $* and $@ without quotes are not.',
)
def arguments(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """Each rank has the arguments that the script was given for the program."""
    ran = of(runs, STEADY)
    line = source.line_of(*MPIRUN)
    return other_arguments(_first(ran).ranks, _first(of(expected, STEADY)).ranks, line) or _not_met(ran)


@part.check(
    19,
    points=1,
    asks=("Exchange tensors over the network that `DATA_NETWORK` names",),
    hint="btl_tcp_if_include takes a network such as 10.77.0.0/24, too.",
)
def network(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """Tensors travel over the network that DATA_NETWORK names."""
    for where, networks in ((STEADY, (DATA, MANAGEMENT)), (FAILING, (MANAGEMENT, DATA))):
        ran, sent = of(runs, where), of(expected, where).facts.received
        if not _first(ran).met:
            return _not_met(ran)
        odd = other_network(ran.facts.received, sent[networks[0]], networks, 1 / 2, "node", ran.cluster)
        if odd:
            return Finding(seen=odd, line=source.line_of("btl_tcp_if_include", *MPIRUN))
    return None


@part.check(
    19,
    points=1,
    asks=(
        "Copy the folder `DATA` to each node's own disk",
        "`DATA` names the copy",
        "Remove the copies when the training has ended",
    ),
    hint="srun runs cp on each node, and later rm. Then DATA is exported with another value.",
)
def staged(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """DATA points each rank to a copy on its own node's disk, which is removed at the end."""
    ran = of(runs, STEADY)
    odd = not_staged(_first(ran).ranks, "node", source.line_of("DATA", *MPIRUN))
    if odd:
        return odd
    if ran.facts.left:
        nodes = " and ".join(ran.facts.left)
        return Finding(
            seen=f"The job has ended, and a copy is still on {nodes}. Expected: none.", line=source.line_of("rm")
        )
    return _not_met(ran)


@part.check(
    19,
    points=1,
    asks=(
        "let `CHECKPOINTS` name a folder below the given one that is this job's own, and the same in each of its runs",
    ),
    hint="A requeued job keeps its number, SLURM_JOB_ID. Each rank has the variables that the script exports.",
)
def checkpoints(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """CHECKPOINTS names a folder of the job's own, the same for all ranks and in each run."""
    ran = of(runs, STEADY)
    line = source.line_of("CHECKPOINTS", *MPIRUN)
    ranks = _first(ran).ranks
    for rank in ranks:
        if not rank.below:
            place = f"'{rank.checkpoints}'" if rank.checkpoints else "nothing"
            message = f"On {rank.host}, CHECKPOINTS is {place}. Expected: a folder below the one that was given."
            return Finding(seen=message, line=line)
    if len({rank.checkpoints for rank in ranks}) > 1:
        return Finding(
            seen="CHECKPOINTS differs from rank to rank. Expected: one folder for all ranks of the job.", line=line
        )
    if ranks and ranks[0].checkpoints == ran.facts.other:
        message = f"CHECKPOINTS is '{ranks[0].checkpoints}' in two jobs. Expected: a folder of each job's own."
        return Finding(seen=message, line=line)
    folders = [rank.checkpoints for run in of(runs, MOVED).facts.runs for rank in run.ranks]
    if len(set(folders)) > 1:
        message = f"CHECKPOINTS is '{folders[0]}' in one run of the job and '{folders[-1]}' in a later one."
        return Finding(seen=f"{message} Expected: the same folder.", line=line)
    return _not_met(ran)


@part.check(
    19,
    points=1,
    asks=("If the training is not asked to end, end the job with its exit status",),
    hint='After `wait PID`, $? has the status of that process. It is the last command, or `exit "$status"`.',
)
def status(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """A job whose training fails ends as failed, and is not requeued."""
    ran = of(runs, FAILING)
    if not _first(ran).met:
        return _not_met(ran)
    if ran.ended_for:
        return Finding(seen=f"A rank fails with status 3, and the job does not end ({ran.cluster}).")
    if ran.facts.state != "FAILED":
        message = f"A rank fails with status 3, and the job ends as {ran.facts.state} ({ran.cluster})."
        return Finding(seen=f"{message} Expected: FAILED.", line=source.line_of("exit", "wait", *MPIRUN))
    return None


@part.check(
    19,
    points=1,
    asks=("Ask for a time limit of one hour",),
    hint="A line #SBATCH --time=… among the first ones of the script.",
)
def limit(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """The job has a time limit of one hour."""
    found, wanted = (of(each, STEADY).facts.limit for each in (runs, expected))
    if found != wanted:
        return Finding(seen=f"The job's time limit is {found}, as Slurm writes it. Expected: {wanted}.")
    return None


@part.check(
    19,
    points=1,
    asks=("Let Slurm requeue the job when a node is lost", "a script that has ended by then is not started again"),
    hint="sbatch has an option for it, which can be a line #SBATCH of the script, too. After mpirun has ended, an srun "
    "on all nodes waits until Slurm knows that one is lost.",
)
def requeued(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """A job whose node is drained or lost runs again on other nodes, and finds its checkpoints."""
    ran = of(runs, MOVED)
    if not _first(ran).met:
        return _not_met(ran)
    wanted = of(expected, MOVED).facts.runs
    what = ["", "a node was drained and the job requeued", "a node was lost"]
    for number in range(1, len(wanted)):
        if len(ran.facts.runs) <= number:
            message = f"After {what[number]}, the job did not run again; its state is {ran.facts.state}"
            message += f": the script ended with status {ran.exit}" * (ran.facts.state == "FAILED")
            return Finding(seen=f"{message}. Expected: it runs again on the other nodes.")
        run = ran.facts.runs[number]
        if not run.met:
            message = f"After {what[number]}, the job started again on {' and '.join(run.nodes)}, and"
            return Finding(seen=f"{message} its ranks never exchanged data. Expected: one training of all ranks.")
        if any(not set(wanted[number].ranks[0].found) <= set(rank.found) for rank in run.ranks):
            message = f"After {what[number]}, the next run finds these checkpoints: {run.ranks[0].found}. Expected: "
            return Finding(seen=f"{message}{wanted[number].ranks[0].found}.", line=source.line_of("CHECKPOINTS"))
    if ran.facts.state != "COMPLETED":
        message = f"The last run of the job ends as {ran.facts.state} ({ran.cluster}). Expected: COMPLETED."
        return Finding(seen=message)
    return None


@part.check(
    19,
    points=1,
    asks=(
        "Let the output of all runs of the job go to one file, with the job's number in its name",
        "A later run must not erase what an earlier one has printed",
    ),
    needs=(requeued,),
    hint="%j stands for the number. --open-mode says what happens to a file that is there.",
)
def output(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """The output of all runs is in one file, with the job's number in its name."""
    ran = of(runs, MOVED)
    name = Path(ran.facts.output).name
    if not re.search(rf"(?<!\d){ran.facts.number}(?!\d)", name):
        message = f"The output of job {ran.facts.number} goes to {name}. Expected: its number in the name, or two jobs "
        return Finding(seen=f"{message}write to one file.", line=source.line_of("--output"))
    wanted = of(expected, MOVED).facts.printed
    if ran.facts.printed != wanted:
        there = " and ".join(str(run + 1) for run in ran.facts.printed) or "none"
        message = f"The job ran {len(wanted)} times, and at the end its file has the output of these runs: {there}."
        return Finding(seen=f"{message} Expected: that of all runs.", line=source.line_of("--open-mode", "--output"))
    return None


@part.check(
    19,
    points=1,
    asks=(
        "for the signal `SIGUSR1` to the script two minutes before it",
        "pass it on to the ranks, wait until the training has ended, and requeue the job.",
    ),
    hint="The trap runs only if no command runs in the foreground but wait. After the trap, wait returns although the "
    "training still runs. scontrol requeue needs the job's number.",
)
def signal(runs: JobRuns, expected: JobRuns, source: Source) -> Finding | None:
    """Before its time limit, the job saves a checkpoint, and continues from it in another run."""
    ran = of(runs, LIMIT)
    if not _first(ran).met:
        return _not_met(ran)
    line = source.line_of("trap", "--signal")
    if len(ran.facts.runs) < 2:
        message = f"The job's time limit was set to two minutes. It did not run again; its state is {ran.facts.state}."
        return Finding(seen=f"{message} Expected: it is signalled, saves a checkpoint and is requeued.", line=line)
    run = ran.facts.runs[1]
    if not run.met:
        message = "After the signal, the job ran again, and its ranks never exchanged data."
        return Finding(seen=f"{message} Expected: training continues from the checkpoint.", line=line)
    if not run.ranks[0].asked:
        message = "The job was requeued before its time limit, and no rank had saved a checkpoint on SIGUSR1."
        return Finding(
            seen=f"{message} Expected: the ranks get the signal, and the script waits for their end.", line=line
        )
    if ran.facts.state != "COMPLETED":
        return Finding(seen=f"The last run of the job ends as {ran.facts.state}. Expected: COMPLETED.", line=line)
    return None
