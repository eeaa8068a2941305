"""Scripts of steps 15 and 16 that learners could hand in, the correct ones first, then those with one mistake each."""

from corpus import Variant

# --- Passages of the solutions ----------------------------------------------------------------------------------------

ONE_GPU = "parameter_server/one_gpu.py"
ONCE = "parameter_server/evaluate_once.py"

WHO = 'if resolver.task_type != "chief":\n'
NO_GPU = 'tf.config.set_visible_devices([], "GPU")\n'
PARTITIONER = (
    "    variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(\n"
    '        min_shard_bytes=256 << 10, max_shards=resolver.cluster_spec().num_tasks("ps")\n'
    "    ),\n"
)
BATCH = "    batch_size = context.get_per_replica_batch_size(args.batch_size)\n"
STEPS = 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train") // args.batch_size\n'
SCOPE = "with strategy.scope():\n    model = make_model()\n"
BACKUP = '    BackupAndRestore(f"{args.log_dir}/backup"),\n'
CREATOR = "    tf.keras.utils.experimental.DatasetCreator(train_data),\n"
SAVE = 'model.save(f"{args.log_dir}/model.keras")\n'
FIT_STEPS = "    steps_per_epoch=steps_per_epoch,\n"

END = "    max_evaluations=args.max_evaluations or args.epochs,\n"
LOGS = 'callbacks = [TensorBoard(f"{args.log_dir}/evaluator", write_graph=False)]\n'
FOLDER = '    f"{args.log_dir}/checkpoints",\n'
SIDECAR = (
    "tf.keras.utils.SidecarEvaluator(\n    model,\n    images,\n"
    + FOLDER
    + END
    + "    callbacks=callbacks,\n).start()\n"
)

BY_HAND = """import time

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

CORRECT = [
    Variant("the solution of step 15", 15, ()),
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
    Variant("checkpoints looked for by hand", 16, ((SIDECAR, BY_HAND),)),
    Variant("the last checkpoint told by the epochs", 16, ((END, "    max_evaluations=args.epochs,\n"),)),
    Variant(
        "an evaluator with a name",
        16,
        (
            (
                SIDECAR,
                SIDECAR.replace("tf.keras", "evaluator = tf.keras").replace(").start()\n", ")\nevaluator.start()\n"),
            ),
        ),
    ),
    Variant(
        "logs beside the training's",
        16,
        ((LOGS, 'callbacks = [TensorBoard(f"{args.log_dir}/tensorboard/evaluator")]\n'),),
    ),
]

WRONG = [
    Variant("nothing done at step 15", 15, (), 15, ONE_GPU),
    Variant("no partitioner", 15, ((PARTITIONER, ""),), 15),
    Variant("cut down to the last byte", 15, (("256 << 10", "1 << 10"),), 15),
    Variant("cut into one part", 15, (('max_shards=resolver.cluster_spec().num_tasks("ps")', "max_shards=1"),), 15),
    Variant(
        "everything cut",
        15,
        (
            (
                PARTITIONER,
                "    variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(2),\n",
            ),
        ),
        15,
    ),
    Variant("the coordinator keeps the GPUs", 15, ((NO_GPU, ""),), 15),
    Variant("the model outside of the scope", 15, ((SCOPE, "model = make_model()\n"),), 15),
    Variant(
        "another strategy",
        15,
        (
            (
                "strategy = tf.distribute.ParameterServerStrategy(\n    resolver,\n" + PARTITIONER + ")\n",
                "strategy = tf.distribute.get_strategy()\n",
            ),
            (CREATOR, "    train_data(tf.distribute.InputContext()),\n"),
        ),
        15,
    ),
    Variant("no backup", 15, ((BACKUP, ""),), 15),
    Variant(
        "steps of one image each", 15, ((STEPS, 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train")\n'),), 15
    ),
    Variant("a constant number of steps", 15, ((STEPS, "steps_per_epoch = 3\n"),), 15),
    Variant("no number of steps", 15, ((FIT_STEPS, ""),), 0),
    Variant("data that exist on the coordinator", 15, ((CREATOR, "    train_data,\n"),), 0),
    Variant("the trained model is not saved", 15, ((SAVE, ""),), 15),
    Variant(
        "the coordinator serves, too",
        15,
        (
            (
                "with strategy.scope():",
                "tf.distribute.Server(resolver.cluster_spec(), 'chief', 0).join()\nwith strategy.scope():",
            ),
        ),
        0,
    ),
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
]
