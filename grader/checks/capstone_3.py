"""The capstone of the third part: fashion_either.py, which learners distribute under either strategy.

On a cluster of workers it has checks of steps 13 and 14, and on one with parameter servers those of step 15. On both,
training has to reach the accuracy of one process with no more images.
"""

from msgspec.structs import replace

from grader.checks import learning, multi_worker, parameter_server, tasks
from grader.checks.multi_worker import batches, restart, workers
from grader.checks.part import Part
from grader.terms.clusters import BATCH, FASHION_MNIST, LOGS, SHIPPED, Fresh, TaskSpec, flags
from grader.terms.facts import TaskFacts

part = Part("fashion_either.py", TaskFacts)

EPOCHS = 2
HIDDEN = 192  # units, so that a matrix is large enough for two parts
ARGUMENTS = flags(hidden=HIDDEN, batch_size=BATCH, train_samples=FASHION_MNIST, epochs=EPOCHS, log_dir=LOGS)

TWO, THREE = (
    Fresh(f"{name}-workers", f"{name} workers", 1, number, 0, ARGUMENTS, tasks=(TaskSpec("worker"),) * number)
    for name, number in (("two", 2), ("three", 3))
)
STEPS = batches.TRAIN // BATCH  # of a coordinator, per epoch
KILLED = replace(parameter_server.KILLED, arguments=ARGUMENTS, batches=STEPS + 2)
RESTARTED = replace(parameter_server.RESTARTED, arguments=ARGUMENTS)
# A cluster without a server would be one of workers, which the program does take part in.
ROLES = tasks.roles("worker", "ps", "evaluator", arguments=ARGUMENTS)

LEARNED_BATCH = 10
MARGIN = 0.12
# At this rate, one process reaches 0.51, and two workers 0.26 with the rate of one. Of the 300 images held out, workers
# may validate on a part that chance draws. The accuracy differs by 0.03 then (one standard deviation).
LEARNED = flags(
    data_dir=SHIPPED, hidden=64, batch_size=LEARNED_BATCH, train_samples=1800, epochs=3, rate=0.0005, log_dir=LOGS
)


def _learning(name: str, description: str, *specs: TaskSpec) -> Fresh:
    return Fresh(f"learning-{name}", description, 1, len(specs), 0, LEARNED, reserved=True, tasks=specs, learns=True)


WORKER = TaskSpec("worker")
LEARNING_ALONE = _learning("1", "one process", WORKER)
LEARNING_TOGETHER = _learning("2", "2 workers, on images of the course", WORKER, WORKER)
SERVED = TaskSpec("chief"), *(TaskSpec(kind, parameter_server.SERVER) for kind in ("ps", "worker", "worker"))
LEARNING_SERVED = _learning("served", "a parameter server and 2 workers, on images of the course", *SERVED)
learned = learning.Learning(LEARNING_ALONE, ((LEARNING_TOGETHER,), (LEARNING_SERVED,)), LEARNED_BATCH, MARGIN)


# --- What steps 13 to 15 ask for --------------------------------------------------------------------------------------

ON_WORKERS, ON_SERVERS = (TWO.name, THREE.name), (KILLED.name, RESTARTED.name, ROLES.name)

# The program has no flag for the way of communication, and backs up instead of saving checkpoints.
adopted = part.adopt(
    multi_worker.part,
    (13, 14),
    instead=dict.fromkeys(
        (
            workers.communication,
            batches.restored,
            restart.checkpoints,
            restart.backups,
            restart.resumed,
            restart.last_save,
        )
    ),
    on=ON_WORKERS,
)
part.adopt(parameter_server.part, (15,), instead={}, on=ON_SERVERS)


# --- What the capstone asks for ---------------------------------------------------------------------------------------


no_more_images, accuracy = learned.ask(
    part,
    103,
    "Under either strategy",
    who="all processes",
    hint="Workers of one step share its batch, so an epoch has fewer steps. A coordinator's workers take a batch each, "
    "so an epoch has as many steps as on one process.",
    clusters=(TWO, THREE, KILLED, RESTARTED, ROLES),
    # Workers that write to one folder fail because of it, or not, by chance, and so do those with models of their own.
    needs=(adopted[restart.thrown_away], adopted[workers.in_scope]),
)
