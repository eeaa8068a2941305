"""The part of step 20: an elastic training, on hosts of which one dies or joins in the middle of an epoch.

What a verdict rests on is seen from outside, and from the model that the training saves: see
grader.watchers.elastic_watcher.
"""

import re
from itertools import pairwise
from statistics import median

from grader.checks import on_hosts
from grader.checks.on_hosts import of
from grader.checks.part import Part
from grader.reading import parsing
from grader.reading.parsing import Source
from grader.terms.findings import Finding, Untold
from grader.terms.runs import ElasticRank, ElasticRuns
from grader.terms.watched_facts import ElasticFacts, Logged

JOINS = on_hosts.cluster("elastic_watcher", "joins", "2 hosts, and a third one joins", 3, reserved=False)
DIES = on_hosts.cluster(
    "elastic_watcher", "dies", "2 hosts with 1 and 2 slots, and the first one, with rank 0, dies", 2
)

NEAR = 0.12  # how far a number of uses may be from a whole one
ERROR = re.compile(r"\[\d+\]<stderr>:((?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b.*)")


def _failure(runs: ElasticRuns) -> Finding | None:
    """Return why the training did not begin, if so; how it ended is for checks, as a host dies, or joins."""
    for where, what in ((JOINS, "join"), (DIES, "die")):
        ran = of(runs, where)
        if ran.facts.happened is None:
            how = "was ended after a while" if ran.ended_for else f"ended with status {ran.exit}"
            return Finding(
                seen=f"The ranks exchange no gradients ({ran.cluster}): the training {how}, before a host could {what}",
                expected="the ranks train together",
                hint=_printed(ran),
            )
    return None


part = Part(
    "fashion_mnist_elastic.py",
    ElasticFacts,
    read=parsing.read,
    ended=on_hosts.ends(_failure),
)


@part.check(
    20,
    points=3,
    clusters=(JOINS, DIES),
    asks=(
        "again, with the state of the last commit, when a rank is lost",
        "When a step raises `tf.errors.UnknownError`, raise `HorovodInternalError` instead",
        "the training continues with the ranks that are left",
    ),
    look_at=("HorovodInternalError", "train_step"),
    hint="hvd.elastic.run calls the function again after HorovodInternalError, and after no other error.",
)
def survives(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """When a host dies, the training continues on the others, and ends with a model."""
    ran, right = of(runs, DIES), of(expected, DIES)
    what = f"A host died in mid-epoch ({ran.cluster})"
    if failed := _unseen(ran) or _failed(ran, what, source):
        return failed
    last, wanted = (max((each.epoch for each in facts.commits), default=None) for facts in (ran.facts, right.facts))
    if last is not None and wanted is not None and last < wanted and median(ran.facts.uses) < wanted + 1 / 2:
        seen = f"{what}, and the training ended in epoch {last + 1}"
        return Finding(seen=seen, expected=f"it ends after epoch {wanted + 1}")
    return None


@part.check(
    20,
    points=2,
    asks=("and with all ranks, when others join", "Remove the two broadcasts before `train`"),
    look_at=("TensorFlowKerasState", "train_step"),
    hint="state.commit() sees whether hosts have come. The state has to have all that a new rank needs.",
)
def grows(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """When a host joins, a rank starts there and trains with the others, before the epoch ends."""
    ran, right = of(runs, JOINS), of(expected, JOINS)
    what = f"A host joined in mid-epoch ({ran.cluster})"
    if nothing := _unseen(ran):
        return nothing
    hosts, wanted = (dict.fromkeys(host for each in of.facts.presence for host in each.ranks) for of in (ran, right))
    if new := next((host for host in wanted if host not in hosts), None):
        seen = f"{what}, and no rank started on {new}"
        return Finding(seen=seen, expected="one, after the next commit", line=source.line_of("commit", "run"))
    if failed := _failed(ran, what, source):
        return failed
    if ran.facts.received < right.facts.received / 2:
        return Finding(
            seen=f"{what}. After that, {ran.facts.received / 1e6:.0f} MB arrived at the first host",
            expected=f"{right.facts.received / 1e6:.0f} MB, with the gradients of all ranks",
            line=source.line_of("DistributedGradientTape"),
        )
    if ran.facts.astray > len(ran.facts.uses) // 50:
        return Finding(
            seen=f"{ran.facts.astray} of {len(ran.facts.uses)} images moved the weights in other directions than the "
            f"gradients of rank 0's weights say ({ran.cluster}): a rank trains with weights of its own",
            expected="all ranks begin with those of rank 0, also without --weights",
        )
    return None


@part.check(
    20,
    points=2,
    asks=("Set the learning rate whenever `train` is called", "`--base-lr`, multiplied by the number of ranks"),
    look_at=("learning_rate", "base_lr"),
    needs=(grows,),
    hint="optimizer.learning_rate.assign(), at the beginning of train: args.base_lr * hvd.size().",
)
def rate(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """The learning rate follows the number of ranks."""
    for ran, right in _trained(runs, expected):
        odd = [times for times in ran.facts.uses if abs(times - round(times)) > NEAR]
        if len(odd) > len(ran.facts.uses) // 50:
            return Finding(
                seen=f"{len(odd)} of {len(ran.facts.uses)} images moved the weights {median(odd):.2f} times as far as "
                f"a use at --base-lr does ({ran.cluster})",
                expected=f"{_epochs(right)} times, once per epoch, with --momentum, and at a learning rate of "
                "--base-lr multiplied by the current number of ranks",
            )
    return None


@part.check(
    20,
    points=2,
    asks=("each image is used once per epoch, whatever the number of ranks is",),
    look_at=("permutation", "seen"),
    needs=(rate,),
    hint="An epoch continues at state.seen. All ranks need the same order, and the state has to have the model in it.",
)
def once(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """Each image is used once per epoch: none is left out, and none is counted twice."""
    for ran, right in _trained(runs, expected):
        epochs = _epochs(right)
        more, less = ([each for each in ran.facts.uses if sign * (each - epochs) > 1 / 2] for sign in (1, -1))
        if more or less:
            return Finding(
                seen=f"In {epochs} epochs, {len(more)} of {len(ran.facts.uses)} images were used more than {epochs} "
                f"times, and {len(less)} less often ({ran.cluster})",
                expected="each of them once per epoch",
            )
    return None


@part.check(
    20,
    points=1,
    asks=(
        "Commit every `args.commit_steps` steps, and at the end of an epoch",
        "Rank 0 logs each commit before it is made",
    ),
    look_at=("commit", "log"),
    needs=(grows,),
    hint="state.commit() after every args.commit_steps steps, and at the end of an epoch. log() before it, on rank 0.",
)
def commits(runs: ElasticRuns, expected: ElasticRuns, source: Source) -> Finding | None:
    """The training commits after every --commit-steps steps and at the end of an epoch, and logs it."""
    for ran, right in _trained(runs, expected):
        if found := _wrong_log(ran, right):
            seen, should = found
            return Finding(seen=f"{seen} ({ran.cluster})", expected=should)
    return None


def _wrong_log(ran: ElasticRank, right: ElasticRank) -> tuple[str, str] | None:
    """Return what was seen in commits.csv and what was expected, where these are not the commits that are asked for."""
    found, wanted = ([(each.epoch, each.seen) for each in run.facts.commits] for run in (ran, right))
    again = [second for first, second in pairwise(found) if second <= first]
    if len(again) > 1:  # one may be logged twice, if rank 0 is lost right after it
        epoch, seen = again[0]
        line = f"commits.csv has a line of epoch {epoch + 1} after {seen} images where it had got that far before"
        return line, "each commit once, logged by rank 0 alone"
    if not len(wanted) * 2 / 3 <= len(found) <= len(wanted) * 3 / 2:
        often = "one after every --commit-steps steps and at the end of an epoch, and none for the other steps"
        return f"commits.csv has {len(found)} lines", f"some {len(wanted)}, {often}"
    if back := _gone_back(found):
        line = f"After a host died, commits.csv has a line of epoch {back[0] + 1} after {back[1]} images"
        return f"{line}, where it had got further two lines before", "the training continues from the last commit"
    if late := _unlogged(ran, right):
        line = (
            f"commits.csv has no line for a commit of epoch {late.epoch + 1}, before the one after {late.seen} images"
        )
        return line, "one for each, also for that in which a host joins"
    missing = {place for place in wanted if place[1] == max(seen for _, seen in wanted)} - set(found)
    if missing:
        return f"commits.csv has no commit at the end of {len(missing)} epochs", "one at the end of each"
    return None


def _gone_back(places: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first place, an epoch and images seen in it, where training had got further two lines before.

    One line may be without its commit, if rank 0 is lost in between.
    """
    places = list(dict.fromkeys(places))
    return next((third for first, _, third in zip(places, places[1:], places[2:], strict=False) if third < first), None)


def _unlogged(ran: ElasticRank, right: ElasticRank) -> Logged | None:
    """Return the first line before which more images were seen than the solution sees with as many ranks.

    Only where a host joins: where one dies, rank 0 may be lost between a line and its commit.
    """
    if ran.cluster != JOINS.description:
        return None
    most: dict[int, int] = {}
    for each, images in _between(right):
        most[each.ranks] = max(images, most.get(each.ranks, 0))
    return next((each for each, images in _between(ran) if images > most.get(each.ranks, images)), None)


def _between(ran: ElasticRank) -> list[tuple[Logged, int]]:
    """Return each line of commits.csv, with the number of images since the one before, or the epoch's beginning."""
    pairs = pairwise([Logged(0, 0, 0), *ran.facts.commits])
    return [(each, each.seen - (before.seen if before.epoch == each.epoch else 0)) for before, each in pairs]


def _unseen(ran: ElasticRank) -> Finding | None:
    """Return why there is nothing to see, where no training began."""
    return Untold(seen=f"the ranks exchange no gradients ({ran.cluster})") if ran.facts.happened is None else None


def _failed(ran: ElasticRank, what: str, source: Source) -> Finding | None:
    """Return why a training has left no model, if so."""
    later = f"{ran.facts.seconds - (ran.facts.happened or 0):.0f} s later"
    if ran.ended_for:
        seen = f"{what}, and the training did not end: it was ended {later}"
        return Finding(seen=seen, expected="it continues, and ends", hint=_printed(ran))
    if ran.exit:
        seen = f"{what}, and the training ended with status {ran.exit}, {later}"
        return Finding(seen=seen, expected="it continues", hint=_printed(ran))
    if not ran.facts.uses:
        seen = f"{what}, and the training ended without a model that can be read"
        return Finding(seen=seen, expected="model.keras in --log-dir", line=source.line_of("save"))
    return None


def _printed(ran: ElasticRank) -> str:
    """Return an error of Python's that a rank printed, or else the end of what was printed, as a hint.

    It is the first one where the training never began, and the last one where it continued before.
    """
    errors = ERROR.findall(ran.stdout)
    return on_hosts.printed(errors[0 if ran.facts.happened is None else -1] if errors else ran.stdout)


def _trained(runs: ElasticRuns, expected: ElasticRuns) -> list[tuple[ElasticRank, ElasticRank]]:
    """Return the trainings that have left a model, each with the solution's."""
    return [(of(runs, where), of(expected, where)) for where in (JOINS, DIES) if of(runs, where).facts.uses]


def _epochs(right: ElasticRank) -> int:
    """Return how often the solution uses an image."""
    return round(median(right.facts.uses))
