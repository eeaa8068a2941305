"""Made-up runs of steps 18 to 20, as watchers see them: those of the solutions, and changes of them."""

from functools import partial

from course.steps import get
from grader.checks import elastic
from grader.reading import parsing, shell
from grader.terms.runs import Rank, Runs
from grader.terms.watched_facts import ElasticFacts, JobFacts, LaunchFacts, Logged, Presence, SeenRank, SeenRun
from tests.grader.checks.made_up import MadeUp, of

LARGE, SMALL = 8_000_000, 20_000  # bytes
ARGUMENTS = ["two  words"]


def runs_of(facts, first, exits=None, described=None):
    """Return the runs of a script with these facts by cluster; the first cluster is judged by all checks."""
    ranks = {
        name: [Rank(0, 0, "The script", (described or {}).get(name, name), 0, None, "", "", "", own, reported=True)]
        for name, own in facts.items()
    }
    for name, status in (exits or {}).items():
        ranks[name][0].exit = status
    return Runs({first: ranks.pop(first)}, ranks)


def received(name):
    """Return the bytes by interface: on the cluster where a rank fails, the data have the other network."""
    data, other = ("eth1", "eth0") if name == "failing" else ("eth0", "eth1")
    return {data: LARGE, other: SMALL}


def of_ranks(cluster, run=0, **values):
    """Return a change of all ranks that were started in a run of a script."""

    def change(runs):
        for rank in (runs.clusters | runs.reserved)[cluster][0].facts.runs[run].ranks:
            for name, value in values.items():
                setattr(rank, name, value)

    return change


# --- Step 18 ----------------------------------------------------------------------------------------------------------

HOSTS = {
    "uneven": ["zoe", "adam", "adam", "adam"],
    "failing": ["kim", "lee"],
    "unshared": [],
    "full": [],
    "cut": ["ben", "eva"],
    "cut_first": ["sam", "pia"],
}
NAMED = {"unshared": ["ida"], "cut": ["eva"], "cut_first": ["sam"]}
VARIABLES = {"RUN": "a run", "SEED": "7", "DATA": "/scratch/data"}


def launched():
    """Return the runs of step 18's solution."""
    facts = {}
    for name, hosts in HOSTS.items():
        ranks = [SeenRank(host, list(ARGUMENTS), dict(VARIABLES), "own") for host in hosts]
        run = SeenRun([], ranks, bool(ranks))
        facts[name] = LaunchFacts(runs=[run], received=received(name), named=NAMED.get(name, []))
    return runs_of(facts, "uneven", {"failing": 3, **dict.fromkeys(("unshared", "full", "cut", "cut_first"), 1)})


LAUNCH = MadeUp(launched, shell.read(get(18).solution.read_text()))

# --- Step 19 ----------------------------------------------------------------------------------------------------------

NODES = {
    "steady": [["adam", "zoe"]],
    "failing": [["ida", "otto"]],
    "moved": [["ada", "ben"], ["ben", "eva"], ["ben", "lee"]],
    "limit": [["mia", "tom"], ["mia", "tom"]],
}


def job(name):
    """Return what step 19's solution does on a cluster."""
    runs = []
    for number, nodes in enumerate(NODES[name]):
        found = [f"checkpoint-{before}" for before in range(number)]
        found += ["checkpoint-0-asked"] if name == "limit" and number else []
        given = {"DATA": "/scratch/7", "CHECKPOINTS": "/shared/c/7"}
        each = 2 if name == "steady" else 1
        ranks = [SeenRank(node, list(ARGUMENTS), dict(given), "own", found) for node in nodes for _ in range(each)]
        runs.append(SeenRun(nodes, ranks, True))
    return JobFacts(
        number=7,
        limit="01:00:00",
        output="/shared/work/train-7.out",
        printed=list(range(len(runs))),
        runs=runs,
        other="/shared/c/1" if name == "steady" else "",
        received=received(name),
        state="FAILED" if name == "failing" else "COMPLETED",
    )


JOB = MadeUp(
    lambda: runs_of({name: job(name) for name in NODES}, "steady", {"failing": 3}),
    shell.read(get(19).solution.read_text()),
)


def only(cluster, number):
    """Return a change of a job that did not run again after so many runs."""

    def change(runs):
        facts = runs.reserved[cluster][0].facts
        facts.runs, facts.state = facts.runs[:number], "NODE_FAIL"

    return change


# --- Step 20 ----------------------------------------------------------------------------------------------------------

BEFORE = {"joins": {"onyx": 1, "mica": 1}, "dies": {"opal": 1, "jade": 2}}
AFTER = {"joins": {"onyx": 1, "mica": 1, "ruby": 1}, "dies": {"jade": 2}}
CLUSTERS = {"joins": elastic.JOINS, "dies": elastic.DIES}
USES = [2.99] * 200 + [3.01] * 40
LOG = [Logged(2, epoch, seen) for epoch in range(3) for seen in (48, 96, 144, 192, 240)]


def trained(name):
    """Return what step 20's solution does on a cluster."""
    presence = [Presence(1.0, BEFORE[name]), Presence(20.0, AFTER[name]), Presence(30.0, {})]
    return ElasticFacts(presence, 12.0, 80_000_000, 30.0, list(LOG), list(USES))


DESCRIBED = {name: cluster.description for name, cluster in CLUSTERS.items()}
ELASTIC = MadeUp(
    lambda: runs_of({name: trained(name) for name in CLUSTERS}, "joins", described=DESCRIBED),
    parsing.read(get(20).solution.read_text()),
)
joins, dies = partial(of, "joins"), partial(of, "dies")
