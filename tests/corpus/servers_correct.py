"""Correct scripts of steps 15 and 16, parameter servers and the evaluator. Each one passes."""

from tests.corpus.servers_passages import BATCH, CREATOR, END, FOLDER, LOGS, NO_GPU, STEPS, WHO
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
    Variant("the solution of step 15", 15, (), in_ci=True),
    Variant("who it is, asked in another way", 15, ((WHO, 'if resolver.task_type == "worker":\n'),)),
    Variant(
        "the older name",
        15,
        (("tf.distribute.ParameterServerStrategy(", "tf.distribute.experimental.ParameterServerStrategy("),),
    ),
    Variant(
        "the number of servers by the cluster's description",
        15,
        (('resolver.cluster_spec().num_tasks("ps")', 'len(resolver.cluster_spec().as_dict()["ps"])'),),
    ),
    Variant("256 KiB by another arithmetic", 15, (("256 << 10", "256 * 1024"),)),
    Variant("the least size left out, which is the same", 15, (("min_shard_bytes=256 << 10, ", ""),)),
    Variant(
        "GPUs taken away by a variable",
        15,
        (("import tensorflow", 'os.environ["CUDA_VISIBLE_DEVICES"] = ""\nimport tensorflow'), (NO_GPU, "")),
    ),
    Variant("the batch size as it is", 15, ((BATCH, "    batch_size = args.batch_size\n"),)),
    Variant(
        "steps rounded up",
        15,
        ((STEPS, 'steps_per_epoch = -(-mobilenet.count(f"{args.data_dir}/train") // args.batch_size)\n'),),
    ),
    Variant(
        "a function without a name",
        15,
        ((CREATOR, CREATOR.replace("(train_data)", "(lambda context: train_data(context))")),),
    ),
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
