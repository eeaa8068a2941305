"""Scripts of steps 13 and 14 that learners could hand in, the correct ones first, then those with one mistake each."""

from corpus import Variant

# --- Passages of the solution -----------------------------------------------------------------------------------------

START = "mnist_one_gpu.py"
FINAL = "mnist_multi_worker_solution.py"

IMPORT = "import argparse\n"
WHO = "_, index = tf_config.check()\n"
CHIEF = "chief = index == 0\n"
STRATEGY = (
    "strategy = tf.distribute.MultiWorkerMirroredStrategy(\n"
    "    communication_options=tf.distribute.experimental.CommunicationOptions(\n"
    "        implementation=tf.distribute.experimental.CommunicationImplementation[args.communication]\n"
    "    )\n"
    ")\n"
)
PLAIN = "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
BATCH = "batch_size = args.batch_size * strategy.num_replicas_in_sync\n"
PIPELINE = "    dataset = dataset.shuffle(len(images), seed=0).repeat().batch(batch_size)\n"
OPTIONS = "    options = tf.data.Options()\n"
POLICY = "    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA\n"
WITH_OPTIONS = "    return dataset.with_options(options)\n"
DATASETS = (
    "train_data = dataset_of(images[held_out:], labels[held_out:])\n"
    "val_data = dataset_of(images[:held_out], labels[:held_out])\n"
)
STEPS = "steps_per_epoch = (len(images) - held_out) // batch_size\n"
VALIDATION_STEPS = "validation_steps = held_out // batch_size\n"
SCOPE = "with strategy.scope():\n    model = make_or_restore_model()\n"
VERBOSE = "    verbose=1 if chief else 0,\n"

LOG_DIR = "log_dir = args.log_dir if chief else thrown_away.name\n"
CHECKPOINT = (
    '    ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),\n'
)
BOARD = '    TensorBoard(f"{log_dir}/tensorboard"),\n'
BACKUP = '    BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),\n'
LAST = 'model.save_weights(f"{log_dir}/checkpoints/after-{args.epochs}")\n'
INITIAL = "    initial_epoch=int(model.optimizer.iterations.numpy()) // steps_per_epoch,\n"


def _each_step(variant: Variant) -> list[Variant]:
    """Return a variant of step 13's properties twice: as a file of step 13, and in the last one, judged at 14."""
    return [variant, Variant(f"{variant.name}, at the end", 14, variant.edits, variant.fails, FINAL)]


CORRECT = [
    Variant("the solution of step 13", 13, ()),
    Variant("the last solution, judged at step 13", 13, (), base=FINAL),
    Variant("no communication options", 13, ((STRATEGY, PLAIN),)),
    Variant("the ring", 13, (("CommunicationImplementation[args.communication]", "CommunicationImplementation.RING"),)),
    Variant(
        "the older name", 13, ((STRATEGY, "strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()\n"),)
    ),
    Variant(
        "imported by name",
        13,
        (
            (
                STRATEGY,
                "from tensorflow import distribute\n\n" + PLAIN.replace("tf.distribute", "distribute"),
            ),
        ),
    ),
    Variant(
        "a resolver given",
        13,
        (
            (
                STRATEGY,
                "resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()\n"
                "strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)\n",
            ),
        ),
    ),
    Variant(
        "TF_CONFIG read by hand",
        13,
        (
            (IMPORT, "import argparse\nimport json\n"),
            (WHO, 'index = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0)\n'),
        ),
    ),
    Variant(
        "the resolver says who it is",
        13,
        (
            (STRATEGY + "\n", PLAIN + "\n"),
            (CHIEF, ""),
            (VERBOSE, "    verbose=int(strategy.cluster_resolver.task_id == 0),\n"),
        ),
    ),
    Variant(
        "the number of workers from the cluster",
        13,
        (
            (
                BATCH,
                "batch_size = args.batch_size * len(strategy.cluster_resolver.cluster_spec().as_dict()['worker'])\n",
            ),
        ),
    ),
    Variant(
        "what is shared out is left to TensorFlow", 13, ((OPTIONS + POLICY + WITH_OPTIONS, "    return dataset\n"),)
    ),
    Variant(
        "shared out by hand",
        13,
        (
            ("AutoShardPolicy.DATA", "AutoShardPolicy.OFF"),
            (
                PIPELINE,
                "    dataset = dataset.shard(strategy.num_replicas_in_sync, index)\n"
                "    dataset = dataset.shuffle(len(images)).repeat().batch(batch_size)\n",
            ),
        ),
    ),
    Variant(
        "a dataset by a function of each worker",
        13,
        (
            (OPTIONS + POLICY + WITH_OPTIONS, "    return dataset\n"),
            (
                PIPELINE,
                "    dataset = dataset.shuffle(len(images), seed=0).repeat().batch(args.batch_size)\n"
                "    dataset = dataset.shard(strategy.num_replicas_in_sync, index)\n",
            ),
            (
                DATASETS,
                "train_data = strategy.distribute_datasets_from_function(\n"
                "    lambda context: dataset_of(images[held_out:], labels[held_out:])\n"
                ")\n"
                "val_data = strategy.distribute_datasets_from_function(\n"
                "    lambda context: dataset_of(images[:held_out], labels[:held_out])\n"
                ")\n",
            ),
        ),
    ),
    Variant("every worker shuffles for itself", 13, ((", seed=0)", ")"),)),
    Variant(
        "repeated before it is shuffled",
        13,
        ((".shuffle(len(images), seed=0).repeat()", ".repeat().shuffle(20, seed=0)"),),
    ),
    Variant(
        "fetched ahead", 13, ((PIPELINE, PIPELINE.replace(".batch(batch_size)", ".batch(batch_size).prefetch(2)")),)
    ),
    Variant("steps rounded up", 13, ((STEPS, "steps_per_epoch = -(-(len(images) - held_out) // batch_size)\n"),)),
    Variant("steps of a split off set", 13, ((STEPS, "steps_per_epoch = len(labels[held_out:]) // batch_size\n"),)),
    Variant(
        "the model made in the scope, without a function",
        13,
        (
            (
                SCOPE,
                "scope = strategy.scope()\nwith scope:\n    model = make_model()\n"
                '    newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")\n'
                "    if newest:\n        model.load_weights(newest)\n",
            ),
        ),
    ),
    Variant(
        "restored outside of the scope",
        13,
        (
            (
                SCOPE,
                "with strategy.scope():\n    model = make_model()\n"
                'newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")\n'
                "if newest:\n    model.load_weights(newest)\n",
            ),
        ),
    ),
    Variant("the scope inside of the function", 13, ((SCOPE, "with strategy.scope():\n    model = make_model()\n"),)),
    Variant("everything in the scope", 13, (("model.fit(\n", "with strategy.scope():\n  model.fit(\n"),)),
    Variant("told in other words", 13, ((VERBOSE, "    verbose=2 * (not index),\n"),)),
    Variant("the solution of step 14", 14, ()),
    Variant(
        "no final save, since each epoch is saved",
        14,
        (
            (LAST, ""),
            (
                CHECKPOINT,
                CHECKPOINT + '    ModelCheckpoint(f"{log_dir}/epochs/after-{{epoch}}", save_weights_only=True),\n',
            ),
        ),
    ),
    Variant(
        "whole models",
        14,
        ((CHECKPOINT, CHECKPOINT.replace('{{epoch}}", save_weights_only=True', '{{epoch}}.keras"')),),
    ),
    Variant(
        "no log on the others",
        14,
        (
            (BOARD, ""),
            ("model.fit(\n", 'if chief:\n    callbacks.append(TensorBoard(f"{log_dir}/tensorboard"))\nmodel.fit(\n'),
        ),
    ),
    Variant(
        "a folder for each worker",
        14,
        ((LOG_DIR, 'log_dir = args.log_dir if chief else f"{args.log_dir}/others/worker-{index}"\n'),),
    ),
    Variant(
        "saved after every step", 14, ((BACKUP, '    BackupAndRestore(f"{args.log_dir}/backup", save_freq=1),\n'),)
    ),
    Variant("the backup elsewhere", 14, (("{args.log_dir}/backup", "{args.log_dir}-backup"),)),
    Variant("the backup in the first place", 14, ((BACKUP, ""), ("callbacks = [\n", "callbacks = [\n" + BACKUP))),
    Variant(
        "Keras' whole name", 14, ((BACKUP, BACKUP.replace("BackupAndRestore", "tf.keras.callbacks.BackupAndRestore")),)
    ),
    Variant("initial epoch left to the backup", 14, ((INITIAL, ""),)),
    Variant("a model exported by the chief's path", 14, ((LAST, 'model.save(f"{log_dir}/model")\n'),)),
]

WRONG = [
    Variant("nothing done at step 13", 13, (), 13, START),
    Variant("nothing done at step 14", 14, (), 14, "mnist_multi_worker_after_step_13.py"),
    Variant("a strategy for one worker", 13, ((STRATEGY, "strategy = tf.distribute.MirroredStrategy()\n"),), 13),
    Variant("the default strategy", 13, ((STRATEGY, "strategy = tf.distribute.get_strategy()\n"),), 13),
    Variant("a tensor before the strategy", 13, ((WHO, "tf.zeros(1)\n" + WHO),), 13),
    Variant("a seed drawn before the strategy", 13, ((WHO, "seed = tf.random.uniform([])\n" + WHO),), 13),
    Variant(
        "devices listed before the strategy", 13, ((WHO, "devices = tf.config.list_logical_devices()\n" + WHO),), 13
    ),
    Variant("a dataset before the strategy", 13, ((WHO, "numbers = tf.data.Dataset.range(3)\n" + WHO),), 13),
    Variant(
        "the strategy after the data",
        13,
        ((STRATEGY, ""), (BATCH, "train = tf.constant(images)\n" + PLAIN + BATCH)),
        13,
    ),
    *_each_step(Variant("the model outside of the scope", 13, ((SCOPE, "model = make_or_restore_model()\n"),), 13)),
    Variant(
        "the scope made and not entered",
        13,
        ((SCOPE, "scope = strategy.scope()\nmodel = make_or_restore_model()\n"),),
        13,
    ),
    Variant(
        "the scope around the training alone",
        13,
        ((SCOPE, "model = make_or_restore_model()\n"), ("model.fit(\n", "with strategy.scope():\n  model.fit(\n")),
        0,
    ),
    Variant(
        "the optimizer outside of the scope",
        13,
        (
            (
                "def make_model():\n",
                "adam = tf.keras.optimizers.Adam(args.lr)\nadam.build([tf.Variable(0.0)])\n\n\ndef make_model():\n",
            ),
            ("optimizer=tf.keras.optimizers.Adam(args.lr)", "optimizer=adam"),
        ),
        0,
    ),
    *_each_step(Variant("batches not scaled", 13, ((BATCH, "batch_size = args.batch_size\n"),), 13)),
    Variant("batches scaled by a constant", 13, ((BATCH, "batch_size = args.batch_size * 2\n"),), 13),
    Variant(
        "batches scaled twice", 13, ((".batch(batch_size)", ".batch(batch_size * strategy.num_replicas_in_sync)"),), 13
    ),
    Variant("batches divided", 13, ((BATCH, "batch_size = args.batch_size // strategy.num_replicas_in_sync\n"),), 0),
    *_each_step(
        Variant(
            "steps of all images, those held out too",
            13,
            ((STEPS, "steps_per_epoch = len(images) // batch_size\n"),),
            13,
        )
    ),
    Variant(
        "steps of one worker's batches",
        13,
        ((STEPS, "steps_per_epoch = (len(images) - held_out) // args.batch_size\n"),),
        13,
    ),
    Variant("a constant number of steps", 13, ((STEPS, "steps_per_epoch = 12\n"),), 13),
    Variant(
        "divided by the workers once more",
        13,
        ((STEPS, "steps_per_epoch = (len(images) - held_out) // batch_size // strategy.num_replicas_in_sync\n"),),
        13,
    ),
    Variant("no repeat", 13, ((".repeat()", ""),), 13),
    Variant("one epoch alone", 13, (("epochs=args.epochs", "epochs=1"),), 13),
    *_each_step(Variant("nothing shared out", 13, (("AutoShardPolicy.DATA", "AutoShardPolicy.OFF"),), 13)),
    Variant("files to share out, of which there are none", 13, (("AutoShardPolicy.DATA", "AutoShardPolicy.FILE"),), 0),
    Variant(
        "trained on what is held out",
        13,
        (("dataset_of(images[held_out:], labels[held_out:])", "dataset_of(images, labels)"),),
        13,
    ),
    *_each_step(Variant("all report", 13, ((VERBOSE, "    verbose=1,\n"),), 13)),
    Variant("nobody reports", 13, ((VERBOSE, "    verbose=0,\n"),), 13),
    Variant("the others print", 13, (("model.fit(\n", 'print("worker", index)\nmodel.fit(\n'),), 13),
    Variant(
        "one worker alone validates",
        13,
        (("    validation_data=val_data,\n", "    validation_data=val_data if chief else None,\n"),),
        0,
    ),
    Variant("one worker alone trains", 13, (("model.fit(\n", "chief and model.fit(\n"),), 0),
    Variant(
        "one index twice",
        13,
        (
            (IMPORT, "import argparse\nimport json\n"),
            (
                WHO,
                'config = json.loads(os.environ.get("TF_CONFIG", "{}"))\n'
                'config["task"] = {"type": "worker", "index": 0}\n'
                'os.environ["TF_CONFIG"] = json.dumps(config)\n' + WHO,
            ),
        ),
        0,
    ),
    Variant("TF_CONFIG thrown away", 13, ((WHO, 'os.environ.pop("TF_CONFIG", None)\n' + WHO),), 13),
    Variant("all write to one folder", 14, ((LOG_DIR, "log_dir = args.log_dir\n"),), 14),
    Variant(
        "checkpoints of all in one folder", 14, ((CHECKPOINT, CHECKPOINT.replace("{log_dir}", "{args.log_dir}")),), 14
    ),
    Variant("logs of all in one folder", 14, ((BOARD, BOARD.replace("{log_dir}", "{args.log_dir}")),), 14),
    Variant("the last save of all in one place", 14, ((LAST, LAST.replace("{log_dir}", "{args.log_dir}")),), 14),
    Variant("the chief throws away", 14, ((LOG_DIR, "log_dir = thrown_away.name if chief else args.log_dir\n"),), 14),
    Variant("no backup", 14, ((BACKUP, ""),), 14),
    Variant(
        "a backup of the chief's",
        14,
        (
            (BACKUP, ""),
            (
                "model.fit(\n",
                f"if chief:\n    callbacks += [\n{BACKUP}    ]\nmodel.fit(\n",
            ),
        ),
        14,
    ),
    Variant("a backup for each worker", 14, ((BACKUP, BACKUP.replace("/backup", "/backup-{index}")),), 14),
    Variant("a backup that is thrown away", 14, ((BACKUP, BACKUP.replace("{args.log_dir}", "{log_dir}")),), 14),
    Variant("a backup once an epoch", 14, ((BACKUP, '    BackupAndRestore(f"{args.log_dir}/backup"),\n'),), 14),
    Variant("no checkpoints", 14, ((CHECKPOINT, ""), (LAST, "")), 14),
    Variant(
        "the backup in a list that nobody gets",
        14,
        ((BACKUP, ""), ("model.fit(\n", f"backup = [\n{BACKUP}]\nmodel.fit(\n")),
        14,
    ),
]
