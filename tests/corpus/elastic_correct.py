"""Right scripts of step 20, elastic training: other ways to write the same."""

from tests.corpus.elastic_passages import (
    ASSIGN,
    CHOSEN,
    COMMIT,
    LOOP,
    MINE,
    NEXT,
    RATE,
    RUN,
    SEEN,
    SHUFFLE,
    START,
    STATE,
    STEP,
)
from tests.corpus.variant import Variant, right


def _right(name: str, *edits: tuple[str, str], in_ci: bool = False) -> Variant:
    return right(20, name, in_ci=in_ci)(*edits)


_ON_RESET = f"""state = {STATE}


def follow():
    optimizer.learning_rate.assign(args.base_lr * hvd.size())


follow()
state.register_reset_callbacks([follow])
train(state)
"""

_WHILE = """        step = 0
        while state.seen < len(images):
            step += 1
            start = state.seen
"""

_REST = """        rest = order[state.seen :]
        for step in range(1, math.ceil(len(rest) / (args.batch_size * hvd.size())) + 1):
            start = state.seen
"""

_COUNTED = """            state.steps += 1
            if state.steps % args.commit_steps == 0 or state.seen == len(images):
                if hvd.rank() == 0:
                    log(state, loss)
                state.commit()
"""

_KEEP = """

def keep(state, loss):
    \"\"\"Log a commit, and make it.\"\"\"
    if hvd.rank() == 0:
        log(state, loss)
    state.commit()


"""

_ANY = """            try:
                loss = train_step(images[mine], labels[mine], weight)
            except tf.errors.OpError as error:
                raise HorovodInternalError(str(error)) from None
"""

_PREPARE = """prepared = Path(args.log_dir, "prepared")
if not prepared.exists():
    time.sleep(35)  # in place of work that takes long
    prepared.parent.mkdir(parents=True, exist_ok=True)
    prepared.touch()

"""

_TWICE = """            if state.seen == len(images):
                if hvd.rank() == 0:
                    log(state, loss)
                state.commit()
            elif not step % args.commit_steps:
                if not hvd.rank():
                    log(state, loss)
                state.commit()
"""

_TAPE = "    tape = hvd.DistributedGradientTape(tape)\n"
_GRADIENT = "    gradients = tape.gradient(loss, model.trainable_variables)\n"

CORRECT = (
    _right("the solution", in_ci=True),
    _right("a reset callback sets the rate", (ASSIGN, ""), (START, _ON_RESET)),
    _right("a while loop over the images that are left", (LOOP, _WHILE)),
    _right("steps over the rest of the order", (LOOP, _REST), ("import csv\n", "import csv\nimport math\n")),
    _right(
        "the state counts steps over all epochs",
        (COMMIT, _COUNTED),
        (STATE, STATE.replace("seen=0", "seen=0, steps=0")),
    ),
    _right(
        "a function of its own logs and commits",
        (RUN, f"{_KEEP.lstrip()}{RUN}"),
        (COMMIT[COMMIT.index("                if hvd.rank()") :], "                keep(state, loss)\n"),
    ),
    _right("any error of TensorFlow's counts as a lost rank", (STEP, _ANY)),
    _right("two places that commit", (COMMIT, _TWICE)),
    _right("a commit in two parts", ("state.commit()\n", "state.save()\n                state.check_host_updates()\n")),
    _right(
        "a rank's share is a contiguous one",
        (MINE, "            mine = np.array_split(chosen, hvd.size())[hvd.rank()]\n"),
    ),
    _right("a start that takes long, as all is prepared once", ("hvd.init()\n", f"{_PREPARE}hvd.init()\n")),
    _right("another order", (SHUFFLE, "np.random.default_rng([2020, state.epoch])")),
    _right(
        "gradients are averaged one by one",
        (_TAPE, ""),
        (_GRADIENT, f"{_GRADIENT}    gradients = [hvd.allreduce(gradient) for gradient in gradients]\n"),
    ),
    _right(
        "the size has a name, and attributes are set one by one",
        (RATE, f"    size = hvd.size()\n{RATE.replace('hvd.size()', 'size')}"),
        (CHOSEN, CHOSEN.replace("hvd.size()", "size")),
        (SEEN, "            state.seen += len(chosen)\n"),
        (NEXT, "        state.epoch += 1\n        state.seen = 0\n"),
    ),
)
