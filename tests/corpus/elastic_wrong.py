"""Wrong scripts of step 20, elastic training: each has one mistake that learners make."""

from tests.corpus.elastic_passages import ASSIGN, COMMIT, RATE, RUN, SEEN, SHUFFLE, STATE, STEP
from tests.corpus.variant import Variant, wrong


def _wrong(name: str, check: str, *edits: tuple[str, str], in_ci: bool = False) -> Variant:
    """Return a row whose first failing check is this one."""
    return wrong(20, name, check=check, in_ci=in_ci)(*edits)


_IGNORED = """            try:
                loss = train_step(images[mine], labels[mine], weight)
            except tf.errors.UnknownError:
                break
"""

_STEP_ALONE = "            loss = train_step(images[mine], labels[mine], weight)\n"

_LATE = """            if step % args.commit_steps == 0 or state.seen == len(images):
                state.commit()
                if hvd.rank() == 0:
                    log(state, loss)
"""
_EACH = """            if hvd.rank() == 0:
                log(state, loss)
            if step % args.commit_steps == 0 or state.seen == len(images):
                state.commit()
"""

_ONCE = f"rate = args.base_lr * hvd.size()\noptimizer.learning_rate.assign(rate)\n\n\n{RUN}"

_ANEW = f"    state.seen = 0\n{RATE}"

WRONG = (
    wrong(20, "nothing was done", check="survives", base="hosts/fashion_mnist_elastic_starter.py")(),
    _wrong("the function is called once", "survives", (RUN, "")),
    _wrong("a failed step ends the epoch", "survives", (STEP, _IGNORED)),
    _wrong("the error of a step stays what it is", "survives", (STEP, _STEP_ALONE)),
    _wrong(
        "the error of a step is raised again", "survives", ("raise HorovodInternalError(error) from error", "raise")
    ),
    _wrong("no commit", "grows", ("                state.commit()\n", "")),
    _wrong(
        "the state has a copy of the model",
        "grows",
        (STATE, STATE.replace("(model,", "(tf.keras.models.clone_model(model),")),
    ),
    _wrong("the rate is that of one rank", "rate", (ASSIGN, "")),
    _wrong("the rate is set once", "rate", (RATE, ""), (RUN, _ONCE)),
    _wrong("rank 0 alone sets the rate", "rate", (ASSIGN, f"    if hvd.rank() == 0:\n    {ASSIGN}")),
    _wrong("the rate follows the local size", "rate", (RATE, RATE.replace("hvd.size()", "hvd.local_size()"))),
    _wrong("an epoch begins anew", "once", ("range(state.seen, len(images)", "range(0, len(images)")),
    _wrong("each call begins its epoch anew", "once", (RATE, _ANEW)),
    _wrong("each rank has an order of its own", "once", (SHUFFLE, "np.random.default_rng([state.epoch, hvd.rank()])")),
    _wrong("each rank counts its own images", "once", (SEEN, "            state.seen += len(mine)\n")),
    _wrong(
        "a commit at the end of an epoch only",
        "commits",
        ("if step % args.commit_steps == 0 or state.seen == len(images):", "if state.seen == len(images):"),
    ),
    _wrong(
        "every rank logs",
        "commits",
        (
            "                if hvd.rank() == 0:\n                    log(state, np.mean(recent))",
            "                log(state, np.mean(recent))",
        ),
    ),
    _wrong("each commit is logged after it is made", "commits", (COMMIT, _LATE)),
    _wrong("each step is logged", "commits", (COMMIT, _EACH)),
    _wrong(
        "no commit at the end of an epoch",
        "commits",
        (" or state.seen == len(images):", " and state.seen < len(images):"),
    ),
)
