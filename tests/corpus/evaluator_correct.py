"""Correct scripts of step 16, the evaluator. Each one passes."""

from tests.corpus.evaluator_passages import END, FOLDER, LOGS
from tests.corpus.variant import Variant

_SIDECAR = (
    "tf.keras.utils.SidecarEvaluator(\n    model,\n    images,\n"
    + FOLDER
    + END
    + "    callbacks=callbacks,\n).start()\n"
)

_BY_HAND = """import time

done = None
while True:
    newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")
    if newest and newest != done:
        model.load_weights(newest).expect_partial()
        model.evaluate(images, callbacks=callbacks, verbose=2)
        done = newest
        if done.endswith(f"-{args.epochs}"):
            break
    time.sleep(0.5)
"""

CORRECT = (
    Variant("the solution of step 16", 16, ()),
    Variant("checkpoints looked for by hand", 16, ((_SIDECAR, _BY_HAND),)),
    Variant("the last checkpoint told by the epochs", 16, ((END, "    max_evaluations=args.epochs,\n"),)),
    Variant(
        "an evaluator with a name",
        16,
        (
            (
                _SIDECAR,
                _SIDECAR.replace("tf.keras", "evaluator = tf.keras").replace(").start()\n", ")\nevaluator.start()\n"),
            ),
        ),
    ),
    Variant(
        "logs beside the training's",
        16,
        ((LOGS, 'callbacks = [TensorBoard(f"{args.log_dir}/tensorboard/evaluator")]\n'),),
    ),
)
