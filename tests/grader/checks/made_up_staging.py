"""Made-up runs of step 8: those of a script that does all that is asked for, and changes of them."""

from grader.reading import parsing
from grader.terms.facts import Batch, Disk, Error, Files, Fit, HorovodFacts, State
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import MadeUp

IMAGES = 20
SOURCE = parsing.read(
    "store.download(args.data_url, data_dir)\n"  # 1
    "hvd.allreduce(failures)\n"  # 2
    "data_dir = Path(args.cache_dir)\n"  # 3
    "model.fit(images)\n"  # 4
    "store.upload(args.log_dir, args.train_url)\n"  # 5
    "shutil.rmtree(args.data_url)\n"  # 6
)
FAILURE = "/images could not be copied to /copy: nothing is there."


def fit():
    """Return what a rank says of a training of one batch."""
    begin = State([], [], 0, [])
    batch = Batch(0.01, [], [], [], [], [])
    return Fit(0, {}, [], [], None, [], [], 0, begin, [batch])


def files(copier=True, **changes):
    """Return what a rank says of its files: one that copies the data, or another one."""
    values = {
        "copied": IMAGES if copier else 0,
        "cached": IMAGES,
        "read_in_training": 0,
        "results_written": 2 if copier else 0,
        "removed": 0,
        "store_errors": [],
    }
    return Files(**(values | changes))


LOGS = "weights.h5", "events.1"


def disk(left=LOGS, kept=LOGS):
    """Return a host's disk, with files of these names in --log-dir and at --train-url."""
    return Disk({f"{folder}/{name}": 10 for folder, names in {"left": left, "kept": kept}.items() for name in names})


def rank(number, slots, facts, cluster, **ending):
    values = {"exit": 0, "ended_for": None, "collective": "", "stdout": "", "stderr": "", "reported": True} | ending
    made = Rank(number, number // slots, f"Rank {number}", cluster, facts=facts, **values)
    if facts.error:
        made.error, made.error_kind, made.error_line = facts.error.message, facts.error.kind, facts.error.line
        made.exit = 1
    return made


def right(number, slots, cluster):
    """Return a rank of a right script that trains."""
    copier = number % slots == 0
    own = files(copier, results_written=0 if number else 2)
    return rank(number, slots, HorovodFacts(order=["trained"], fits=[fit()], files=own), cluster, left=disk())


def ended(number, message="no data on 1 host", errors=(), kind="SystemExit", **ending):
    """Return a rank that ends where the copy to host 1 fails."""
    own = files(number == 0, cached=None, copied=IMAGES if number == 0 else 0, store_errors=list(errors))
    error = None if message is None else Error(kind, message, 9, "")
    return rank(number, 2, HorovodFacts(files=own, error=error), "2 hosts with 2 ranks each", **ending)


def solved():
    """Return a right script's runs."""
    sizes = {"two-hosts": (2, 1), "three-ranks": (3, 3)}
    made = {name: [right(n, slots, name) for n in range(size)] for name, (size, slots) in sizes.items()}
    where_unreached = [ended(0), ended(1), ended(2, errors=[FAILURE], stdout=f"{FAILURE}\n"), ended(3)]
    return Runs(made, {"unreached": where_unreached})


STAGING = MadeUp(solved, SOURCE)


def unreached(*numbers, **ending):
    """Return a change of how ranks end where the copy to host 1 fails."""

    def change(runs):
        for number in numbers:
            runs.reserved["unreached"][number] = ended(number, **ending)

    return change
