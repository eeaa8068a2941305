"""Wrong scripts of step 16, the evaluator: each has one mistake that learners make."""

from tests.corpus.evaluator_passages import END, FOLDER, NO_GPU, ONCE
from tests.corpus.variant import Variant

WRONG = (
    Variant("nothing done at step 16", 16, (), 16, ONCE),
    Variant("the first checkpoint alone", 16, ((END, "    max_evaluations=1,\n"),), 16),
    Variant("without an end", 16, ((END, ""),), 0),
    Variant("another folder", 16, ((FOLDER, '    f"{args.log_dir}/models",\n'),), 0),
    Variant(
        "an evaluator in the training's cluster",
        16,
        (("images = mobilenet", "strategy = tf.distribute.MultiWorkerMirroredStrategy()\nimages = mobilenet"),),
        0,
    ),
    Variant("no curve", 16, (("    callbacks=callbacks,\n", ""),), 16),
    Variant("the evaluator keeps the GPUs", 16, ((NO_GPU.replace("\n", ""), "pass"),), 16),
    Variant("another network", 16, (("args.classes, args.alpha)", "args.classes, 2 * args.alpha)"),), 0),
    Variant("the evaluator thinks it is the chief", 16, (('task_type != "evaluator"', 'task_type != "chief"'),), 0),
)
