"""Wrong scripts of step 16, the evaluator: each has one mistake that learners make."""

from tests.corpus.evaluator_passages import CHECK, END, FLAG, FOLDER, IMAGES, NO_GPU, ONCE, ROLE, SIDECAR
from tests.corpus.variant import Variant, wrong


def _wrong(name: str, check: str, *edits: tuple[str, str], in_ci: bool = False) -> Variant:
    """Return a row whose first failing check is this one."""
    return wrong(16, name, check=check, in_ci=in_ci)(*edits)


_COUNTED = """seen = 0
for newest in tf.train.checkpoints_iterator(f"{args.log_dir}/checkpoints"):
    model.load_weights(newest).expect_partial()
    model.evaluate(images, callbacks=callbacks, verbose=2)
    seen += 1
    if seen == (args.max_evaluations or args.epochs):
        break
"""

_LAST = """for newest in tf.train.checkpoints_iterator(f"{args.log_dir}/checkpoints"):
    if newest.endswith(f"-{args.max_evaluations or args.epochs}"):
        model.load_weights(newest).expect_partial()
        model.evaluate(images, callbacks=callbacks, verbose=2)
        break
"""

_EXACT = """for newest in tf.train.checkpoints_iterator(f"{args.log_dir}/checkpoints"):
    model.load_weights(newest).expect_partial()
    model.evaluate(images, callbacks=callbacks, verbose=2)
    if newest.endswith(f"-{args.max_evaluations or args.epochs}"):
        break
"""

_UNLOADED = """for newest in tf.train.checkpoints_iterator(f"{args.log_dir}/checkpoints"):
    model.evaluate(images, callbacks=callbacks, verbose=2)
    if newest.endswith(f"-{args.max_evaluations or args.epochs}"):
        break
"""

WRONG = (
    wrong(16, "nothing done at step 16", check="tf_config", base=ONCE)(),
    # 1. The flag
    _wrong("no flag", "flag", (FLAG, ""), (END, "    max_evaluations=args.epochs,\n")),
    _wrong("the flag is ignored", "flag", (END, "    max_evaluations=args.epochs,\n"), in_ci=True),
    _wrong(
        "the flag by another name",
        "flag",
        (FLAG, FLAG.replace("--max-evaluations", "--max-evals").replace("type", "dest='max_evaluations', type")),
    ),
    _wrong("the flag is a text", "flag", (FLAG, FLAG.replace("type=int, ", ""))),
    _wrong(
        "the epochs where there are fewer of them",
        "flag",
        (END, "    max_evaluations=max(args.max_evaluations or 0, args.epochs),\n"),
    ),
    _wrong("without the flag no end", "ends", (END, "    max_evaluations=args.max_evaluations,\n")),
    _wrong("without the flag another end", "ends", (FLAG, FLAG.replace("type=int,", "type=int, default=20,"))),
    _wrong("without an end", "ends", (END, "")),
    _wrong("the first checkpoint alone", "ends", (END, "    max_evaluations=1,\n")),
    _wrong("evaluations counted in place of checkpoints", "number", (SIDECAR, _COUNTED)),
    _wrong("a checkpoint of exactly that number alone ends it", "flag", (SIDECAR, _EXACT)),
    # 2. TF_CONFIG, the role, GPUs
    _wrong("TF_CONFIG is not checked", "tf_config", (CHECK, "")),
    _wrong("no check of the role", "role", (ROLE, ""), in_ci=True),
    _wrong("the chief alone is turned away", "role", (ROLE, ROLE.replace('!= "evaluator"', '== "chief"'))),
    _wrong("the evaluator thinks it is the chief", "role", ('task_type != "evaluator"', 'task_type != "chief"')),
    _wrong("an inverted role", "role", ('task_type != "evaluator"', 'task_type == "evaluator"')),
    _wrong("the evaluator keeps the GPUs", "gpus", (NO_GPU, "pass")),
    wrong(16, "an evaluator in the training's cluster", fails=0)(
        ("images = mobilenet", "strategy = tf.distribute.MultiWorkerMirroredStrategy()\nimages = mobilenet")
    ),
    # 3. What is evaluated
    _wrong("the last checkpoint alone", "each", (SIDECAR, _LAST)),
    _wrong("checkpoints that are not loaded", "each", (SIDECAR, _UNLOADED)),
    _wrong("another folder", "each", (FOLDER, '    f"{args.log_dir}/models",\n')),
    _wrong("made and never started", "each", (").start()", ")")),
    _wrong("one batch alone", "images", (END, END + "    steps=1,\n")),
    _wrong("some images alone", "images", (IMAGES, IMAGES.replace(".batch(", ".take(5).batch("))),
    _wrong("images of the training", "images", ("{args.data_dir}/val", "{args.data_dir}/train")),
    _wrong("no curve", "curve", ("    callbacks=callbacks,\n", "")),
    wrong(16, "another network", fails=0)(("args.classes, args.alpha)", "args.classes, 2 * args.alpha)")),
)
