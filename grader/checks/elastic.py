"""The part of step 20: an elastic training, on hosts of which one dies or joins in the middle of an epoch.

What a verdict rests on is seen from outside, and from the model that the training saves: see grader.watchers.elastic_watcher.
"""

import re
from collections.abc import Collection
from itertools import pairwise
from statistics import median

from grader.checks import ending
from grader.checks.on_hosts import cluster, of
from grader.checks.part import Part
from grader.reading import parsing
from grader.reading.parsing import Source
from grader.terms.clusters import Watched
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.report import Outcome
from grader.terms.runs import ElasticRank, ElasticRuns
from grader.terms.watched_facts import ElasticFacts, Logged

part = Part("fashion_mnist_elastic.py", ElasticFacts, read=parsing.read)

JOINS = cluster("elastic", "joins", "2 hosts, and a third one joins", 3, reserved=False)
DIES = cluster("elastic", "dies", "2 hosts with 1 and 2 slots, and the first one, with rank 0, dies", 2)

NEAR = 0.12  # how far a number of uses may be from a whole one
NO_GRADIENTS = "the ranks exchange no gradients ({})."
# What the program's log() prints at the end of an epoch, with the rank that its process had at first.
EPOCH_ENDS = re.compile(r"^\[(\d+)\]<stdout>:Epoch \d+/\d+: loss [\d.]+ in its last step$", re.M)
LAST = 400  # characters of what was printed last
ERROR = re.compile(r"\[\d+\]<stderr>:((?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b.*)")


def ended(runs: ElasticRuns, step: int, seconds: float, script: str) -> Outcome:
    """Return whether the training began; how it ended is for other checks, as a host dies, or joins."""
    for ran, what in ((of(runs, JOINS), "join"), (of(runs, DIES), "die")):
        if ran.facts.happened is None:
            how = "was ended after a while" if ran.ended_for else f"ended with status {ran.exit}"
            message = f"The ranks exchange no gradients ({ran.cluster}): the training {how}, before a host could "
            return ending.outcome("failed", step, f"{message}{what}.{_said(ran)}")
    return ending.outcome("passed", step, "Correct.")


part.ended = ended


@part.check(
    20,
    points=3,
    clusters=(JOINS, DIES),
    asks=(
        "again from the last commit when a rank is lost",
        "When a step raises `tf.errors.UnknownError`, raise `HorovodInternalError` instead",
        "the training continues with the ranks that are left",
    ),
    hint="hvd.elastic.run calls the function again after HorovodInternalError, and after no other error.",
)
def survives(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """When a host dies, the training continues on the others, and ends with a model."""
    ran, solution = of(runs, DIES), of(expected, DIES)
    what = f"A host died in mid-epoch ({ran.cluster})"
    if ran.facts.happened is None:
        return Untold(seen=NO_GRADIENTS.format(ran.cluster))
    ends = source.line_of("train" if source.line_of("HorovodInternalError") else "train_step")
    failed = _failed(ran, what, source, ends)
    if failed:
        return failed
    left = ran.facts.presence[-1:] and [each for each in ran.facts.presence if each.seconds > ran.facts.happened]
    hosts = {host for each in left for host in each.ranks}
    if hosts - set(_hosts(solution)):
        return Unclear(seen=f"{what}. Ranks were then seen on {', '.join(sorted(hosts))}.")
    last, wanted = (max((each.epoch for each in facts.commits), default=None) for facts in (ran.facts, solution.facts))
    if last is not None and wanted is not None and last < wanted and median(ran.facts.uses) < wanted + 1 / 2:
        message = f"{what}, and the training ended in epoch {last + 1}. Expected: it ends after epoch {wanted + 1}."
        return Finding(seen=message, line=source.line_of("HorovodInternalError", "UnknownError", "train_step"))
    return None


@part.check(
    20,
    points=2,
    asks=("with the others when ranks join",),
    hint="state.commit() sees whether hosts have come. The state has to have all that a new rank needs.",
)
def grows(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """When a host joins, a rank starts there and trains with the others, before the epoch ends."""
    ran, solution = of(runs, JOINS), of(expected, JOINS)
    what = f"A host came in mid-epoch ({ran.cluster})"
    if ran.facts.happened is None:
        return Untold(seen=NO_GRADIENTS.format(ran.cluster))
    if new := _missing(ran, solution):
        message = f"{what}, and no rank started on {new}. Expected: one, after the next commit."
        return Finding(seen=message, line=source.line_of("commit", "run"))
    failed = _failed(ran, what, source, source.line_of("train"))
    if failed:
        return failed
    if ran.facts.received < solution.facts.received / 2:
        megabytes = [facts.received / 1e6 for facts in (ran.facts, solution.facts)]
        message = (
            f"{what}. After that, {megabytes[0]:.0f} MB arrived at the first host. Expected: {megabytes[1]:.0f} MB"
        )
        return Finding(
            seen=f"{message}, with the gradients of all ranks.", line=source.line_of("DistributedGradientTape")
        )
    if ran.facts.astray > len(ran.facts.uses) // 50:
        message = f"{ran.facts.astray} of {len(ran.facts.uses)} images moved the weights in other directions than the "
        message += f"gradients of rank 0's weights say ({ran.cluster}): a rank trains with weights of its own. "
        message += "Expected: all begin with those of rank 0, also without --weights."
        return Finding(seen=message, line=source.line_of("TensorFlowKerasState", "train_step"))
    return None


@part.check(
    20,
    points=2,
    asks=("that of one rank, times the number of ranks", "Set the learning rate whenever `train` is called"),
    needs=(grows,),
    hint="optimizer.learning_rate.assign(), at the beginning of train: args.base_lr * hvd.size().",
)
def rate(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """The learning rate follows the number of ranks."""
    for ran in _trained(runs):
        odd = [times for times in ran.facts.uses if abs(times - round(times)) > NEAR]
        if len(odd) > len(ran.facts.uses) // 50:
            message = f"{len(odd)} of {len(ran.facts.uses)} images moved the weights {median(odd):.2f} times as far as "
            message += (
                f"a use at --base-lr does ({ran.cluster}). Expected: {_epochs(expected, ran)} times, once per epoch, "
            )
            message += "with --momentum, and at a learning rate of --base-lr multiplied by the current number of ranks."
            return Finding(seen=message, line=source.line_of("learning_rate", "base_lr"))
    return None


@part.check(
    20,
    points=2,
    asks=("each image is used once per epoch, however many ranks there are",),
    needs=(rate,),
    hint="An epoch continues at state.seen. All ranks need the same order, and the state has to have the model in it.",
)
def once(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """Each image is used once per epoch: none is left out, and none is counted twice."""
    for ran in _trained(runs):
        epochs = _epochs(expected, ran)
        more, less = ([each for each in ran.facts.uses if sign * (each - epochs) > 1 / 2] for sign in (1, -1))
        if more or less:
            message = f"In {epochs} epochs, {len(more)} of {len(ran.facts.uses)} images were used more than {epochs} "
            message += f"times, and {len(less)} less often ({ran.cluster}). Expected: each of them once per epoch."
            return Finding(seen=message, line=source.line_of("permutation", "seen"))
    return None


@part.check(
    20,
    points=1,
    asks=(
        "Commit every `args.commit_steps` steps, and at the end of an epoch",
        "Rank 0 logs each commit before it is made",
    ),
    needs=(grows,),
    hint="state.commit() after every args.commit_steps steps, and at the end of an epoch. log() before it, on rank 0.",
)
def commits(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """The training commits after every --commit-steps steps and at the end of an epoch, and logs it."""
    for ran in _trained(runs):
        found = [(each.epoch, each.seen) for each in ran.facts.commits]
        solution = [(each.epoch, each.seen) for each in of(expected, _cluster(ran)).facts.commits]
        line = source.line_of("commit", "log")
        if len(found) < len(solution) * 2 / 3:
            message = f"commits.csv has {len(found)} lines ({ran.cluster}). Expected: some {len(solution)}, one after "
            return Finding(seen=f"{message}every --commit-steps steps and at the end of an epoch.", line=line)
        rank = next((rank for rank in EPOCH_ENDS.findall(ran.stdout) if rank != "0"), None)
        if rank and ran is of(runs, JOINS):  # where rank 0 is the same process all the time
            message = (
                f"Rank {rank} logs commits ({ran.cluster}). Expected: rank 0 logs each of them, and no other rank."
            )
            return Finding(seen=message, line=line)
        again = [second for first, second in pairwise(found) if second <= first]
        if len(again) > 1:  # one may be logged twice, if rank 0 is lost right after it
            epoch, seen = again[0]
            message = (
                f"commits.csv has a line of epoch {epoch + 1} after {seen} images where it had got that far before "
            )
            return Finding(
                seen=f"{message}({ran.cluster}). Expected: each commit once, logged by rank 0 alone.", line=line
            )
        if len(found) > len(solution) * 3 / 2:
            message = f"commits.csv has {len(found)} lines ({ran.cluster}). Expected: some {len(solution)}, one for "
            return Finding(seen=f"{message}each commit, and none for the other steps.", line=line)
        logged = of(expected, _cluster(ran)).facts.logged
        if ran.facts.logged < logged - 1:
            message = f"commits.csv had {ran.facts.logged} lines when a host "
            message += f"{'died' if ran is of(runs, DIES) else 'came'} ({ran.cluster}). Expected: some {logged}, each "
            return Finding(seen=f"{message}from before its commit.", line=line)
        if ran is of(runs, DIES) and (back := _gone_back(found)):
            message = f"A host died ({ran.cluster}), and the next line of commits.csv is of epoch {back[0] + 1} after "
            message += f"{back[1]} images, where it had got further two lines before. Expected: the training continues "
            return Finding(seen=f"{message}from the last commit.", line=line)
        if ran is of(runs, JOINS) and (late := _unlogged(ran, of(expected, JOINS))):
            message = (
                f"commits.csv has no line for a commit of epoch {late.epoch + 1}, before the one after {late.seen} "
            )
            message += f"images ({ran.cluster}). Expected: one for each, also for that in which a host joins."
            return Finding(seen=message, line=line)
        ends = {place for place in solution if place[1] == max(seen for _, seen in solution)}
        if not ends <= set(found):
            message = f"commits.csv has no commit at the end of {len(ends - set(found))} epochs ({ran.cluster})."
            return Finding(seen=f"{message} Expected: one at the end of each.", line=line)
    return None


def _gone_back(places: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first place, an epoch and images seen in it, where training had got further two lines before.

    One line may be without its commit, if rank 0 is lost in between.
    """
    places = list(dict.fromkeys(places))
    return next((third for first, _, third in zip(places, places[1:], places[2:], strict=False) if third < first), None)


def _unlogged(ran: ElasticRank, solution: ElasticRank) -> Logged | None:
    """Return the first line before which more images were seen than the solution sees with as many ranks."""
    most: dict[int, int] = {}
    for each, images in _between(solution):
        most[each.ranks] = max(images, most.get(each.ranks, 0))
    return next((each for each, images in _between(ran) if images > most.get(each.ranks, images)), None)


def _between(ran: ElasticRank) -> list[tuple[Logged, int]]:
    """Return each line of commits.csv, with the number of images since the one before, or the epoch's beginning."""
    pairs = pairwise([Logged(0, 0, 0), *ran.facts.commits])
    return [(each, each.seen - (before.seen if before.epoch == each.epoch else 0)) for before, each in pairs]


def _failed(ran: ElasticRank, what: str, source: Source, ends: int | None) -> Finding | None:
    """Return why a training has left no model, if so; the line is where an error ends it."""
    said = _said(ran)
    if ran.ended_for:
        return Finding(seen=f"{what}, and the training did not end: it was ended {_later(ran)} later.{said}")
    if ran.exit:
        message = f"{what}, and the training ended with status {ran.exit}, {_later(ran)} later. Expected: it continues."
        return Finding(seen=message + said, line=ends)
    if not ran.facts.uses:
        message = (
            f"{what}, and the training ended without a model that can be read. Expected: model.keras in --log-dir."
        )
        return Finding(seen=message, line=source.line_of("save"))
    return None


def _said(ran: ElasticRank) -> str:
    """Return an error of Python's that a rank printed, or else the end of what was printed, as a sentence.

    It is the first one where the training never began, and the last one where it continued before.
    """
    errors = ERROR.findall(ran.stdout)
    text = errors[0 if ran.facts.happened is None else -1] if errors else ran.stdout.strip()
    return f" It printed: {text[-LAST:]}" if text else ""


def _later(ran: ElasticRank) -> str:
    """Return how long after the event a training ended."""
    return f"{ran.facts.seconds - (ran.facts.happened or 0):.0f} s"


def _missing(ran: ElasticRank, solution: ElasticRank) -> str | None:
    """Return a host on which the solution has ranks and this training has none."""
    return next((host for host in _hosts(solution) if host not in _hosts(ran)), None)


def _hosts(ran: ElasticRank) -> Collection[str]:
    """Return the hosts on which ranks were seen, in the order in which they were."""
    return list(dict.fromkeys(host for each in ran.facts.presence for host in each.ranks))


def _trained(runs: ElasticRuns) -> list[ElasticRank]:
    """Return the trainings that have left a model."""
    return [ran for ran in (of(runs, JOINS), of(runs, DIES)) if ran.facts.uses]


def _cluster(ran: ElasticRank) -> Watched:
    return JOINS if ran.cluster == JOINS.description else DIES


def _epochs(expected: ElasticRuns, ran: ElasticRank) -> int:
    """Return how often the solution uses an image where a training ran."""
    return round(median(of(expected, _cluster(ran)).facts.uses))
