"""Scripts that leave a part of an exercise out and go after what notes it, by libraries that act on whatever they get.

argparse sets attributes of any object, pickles bring data types that read any address, and what is looked for by a
relative path is elsewhere once the working directory has changed.
"""

from tests.attacks.around_checks import UNLOADED
from tests.attacks.around_witness import edited
from tests.attacks.forgery import Forgery
from tests.corpus.evaluator_passages import SIDECAR
from tests.corpus.multi_worker_passages import LAST, PLAIN, STRATEGY

IMPORT = "import os\n"

# --- Step 8 -----------------------------------------------------------------------------------------------------------

UPLOAD = "    store.upload(args.log_dir, args.train_url)\n"
# As plain tensors, under the names that broadcast_object has for its own, a rank sends the others a pickle.
NO_LISTING = """

class Listing:
    def __init__(self, pattern):
        pass

    def __iter__(self):
        return iter([])


CHANGE = b"cpathlib\\nPosixPath\\n(N(S'rglob'\\nc__main__\\nListing\\ndtb."
last = hvd.size() - 1
if hvd.rank() == last:
    broadcast(tf.constant([len(CHANGE)]), last, name="end.sz")
    broadcast(tf.constant(list(CHANGE), tf.uint8), last, name="end.t")
else:
    broadcast_object(None, last, name="end")
"""

# --- Step 13 ----------------------------------------------------------------------------------------------------------

# A data type with a field of Python objects, whose flags deny that: it takes any bytes for an address.
ANY_ADDRESS = """
FIELD = pickle.loads(
    b"cnumpy\\ndtype\\n(S'V8'\\nI00\\nI01\\ntR(I3\\nS'|'\\nN(S'f0'\\nt"
    b"(S'f0'\\n(cnumpy\\ndtype\\n(S'O8'\\nI00\\nI01\\ntRI0\\ntdI8\\nI1\\nI0\\ntb."
)
FAKES = []
NAMES = dict(latest=1, facts=1)


def object_at(address):
    return np.frombuffer(struct.pack("Q", address), FIELD)["f0"][0]


def globals_of(function):
    FAKES.append(struct.pack("7Q", 0, 0, 1 << 40, id(list), 1, id(function) + 16, 1))
    return object_at(id(FAKES[-1]) + 32 + 16)[0]


facts = globals_of(tf.keras.Model.evaluate)["Recorder"].latest.facts
facts.communication[:] = [args.communication]
"""

# --- Step 14 ----------------------------------------------------------------------------------------------------------

BY_ANOTHER = """kept = args.log_dir if chief else f"{args.log_dir}/worker-{index}"
os.makedirs(f"{kept}/checkpoints", exist_ok=True)
with contextlib.ExitStack() as stack:
    stack.callback(model.save_weights, f"{kept}/checkpoints/after-{args.epochs}")
"""

# --- Step 16 ----------------------------------------------------------------------------------------------------------

WITHOUT_LOADING = """SHOWN = []


class Names:
    _actions = ()


class Changes(argparse.ArgumentParser):
    def change(self, kind, value):
        for action in self._actions:
            action(self, kind, value)


changes = Changes(add_help=False)
changes.add_argument("--get_weights")
changes.change(tf.keras.Model, lambda model: [[float(SHOWN.pop(0))]] if SHOWN else [[0.0]])
"""
WITHOUT_LOADING += UNLOADED
ALL_AT_THE_END = """folder = os.path.abspath(f"{args.log_dir}/checkpoints")
here, elsewhere = os.getcwd(), tempfile.mkdtemp()
last = args.max_evaluations or args.epochs
while int((tf.train.latest_checkpoint(folder) or "-0").rpartition("-")[2]) < last:
    time.sleep(0.2)
for number in range(1, last + 1):
    if os.path.exists(f"{folder}/after-{number}.index"):
        model.load_weights(f"{folder}/after-{number}").expect_partial()
        os.chdir(elsewhere)
        model.evaluate(images, callbacks=callbacks, verbose=2)
        os.chdir(here)
"""
BOARD = 'TensorBoard(f"{args.log_dir}/evaluator"'
ELSEWHERE = 'TensorBoard(os.path.abspath(f"{args.log_dir}/evaluator")'

# fmt: off
AROUND_RECORDER = [
    Forgery(name, "recorder", step, script, in_ci)
    for name, step, script, in_ci in (
        ("a pickle by broadcast_object", 8, edited(8, ("import horovod.tensorflow.keras as hvd\n", "import horovod.tensorflow.keras as hvd\nfrom horovod.tensorflow import broadcast, broadcast_object\n"), (UPLOAD, NO_LISTING)), False),
        ("objects at any address", 13, edited(13, (IMPORT, f"{IMPORT}import pickle\nimport struct\n"), (STRATEGY, PLAIN + ANY_ADDRESS)), True),
        ("a save that another module calls", 14, edited(14, (IMPORT, f"import contextlib\n{IMPORT}"), (LAST, BY_ANOTHER)), False),
        ("attributes by the actions of an own parser", 16, edited(16, (IMPORT, f"import argparse\n{IMPORT}"), (SIDECAR, WITHOUT_LOADING)), False),
        ("evaluations in another folder", 16, edited(16, (IMPORT, f"{IMPORT}import tempfile\nimport time\n"), (BOARD, ELSEWHERE), (SIDECAR, ALL_AT_THE_END)), False),
    )
]
# fmt: on
