"""Correct scripts of steps 13 and 14, several workers. Each one passes."""

from tests.corpus.multi_worker_passages import (
    BACKUP,
    BATCH,
    BOARD,
    CHECKPOINT,
    CHIEF,
    DATASETS,
    FINAL,
    IMPORT,
    INITIAL,
    LAST,
    LOG_DIR,
    OPTIONS,
    PIPELINE,
    POLICY,
    RESTORE,
    SCOPE,
    STEPS,
    STRATEGY,
    THROWN,
    VERBOSE,
    WHO,
    WITH_OPTIONS,
)
from tests.corpus.variant import right

CORRECT = (
    right(13, "the solution of step 13")(),
    right(13, "the last solution, judged at step 13", base=FINAL)(),
    right(13, "TF_CONFIG read by hand")(
        (IMPORT, "import argparse\nimport json\n"),
        (WHO, 'index = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0)\n'),
    ),
    right(13, "the number of workers from the cluster")(
        (BATCH, "batch_size = args.batch_size * len(strategy.cluster_resolver.cluster_spec().as_dict()['worker'])\n")
    ),
    right(13, "what is shared out is left to TensorFlow")((OPTIONS + POLICY + WITH_OPTIONS, "    return dataset\n")),
    right(13, "shared out by hand")(
        ("AutoShardPolicy.DATA", "AutoShardPolicy.OFF"),
        (
            PIPELINE,
            "    dataset = dataset.shard(strategy.num_replicas_in_sync, index)\n"
            "    dataset = dataset.shuffle(len(images)).repeat().batch(batch_size)\n",
        ),
    ),
    right(13, "a dataset by a function of each worker")(
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
    right(13, "every worker shuffles for itself")((", seed=0)", ")")),
    right(13, "repeated before it is shuffled")(
        (".shuffle(len(images), seed=0).repeat()", ".repeat().shuffle(20, seed=0)")
    ),
    right(13, "fetched ahead")((PIPELINE, PIPELINE.replace(".batch(batch_size)", ".batch(batch_size).prefetch(2)"))),
    right(13, "steps rounded up")((STEPS, "steps_per_epoch = -(-(len(images) - held_out) // batch_size)\n")),
    right(13, "steps of a split off set")((STEPS, "steps_per_epoch = len(labels[held_out:]) // batch_size\n")),
    right(13, "the model made in the scope, without a function")(
        (
            SCOPE,
            "scope = strategy.scope()\nwith scope:\n    model = make_model()\n"
            '    newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")\n'
            "    if newest:\n        model.load_weights(newest)\n",
        )
    ),
    right(13, "restored outside of the scope")(
        (
            SCOPE,
            "with strategy.scope():\n    model = make_model()\n"
            'newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")\n'
            "if newest:\n    model.load_weights(newest)\n",
        )
    ),
    right(13, "the scope inside of the function")(
        (SCOPE, RESTORE), ("    model = make_model()\n", "    with strategy.scope():\n        model = make_model()\n")
    ),
    right(13, "everything in the scope")(("model.fit(\n", "with strategy.scope():\n  model.fit(\n")),
    right(13, "told in other words")((VERBOSE, "    verbose=2 * (not index),\n")),
    right(14, "the solution of step 14")(),
    right(14, "no log on the others")(
        (BOARD, ""),
        ("model.fit(\n", 'if chief:\n    callbacks.append(TensorBoard(f"{log_dir}/tensorboard"))\nmodel.fit(\n'),
    ),
    right(14, "the backup in the first place")((BACKUP, ""), ("callbacks = [\n", "callbacks = [\n" + BACKUP)),
    right(14, "Keras' whole name")((BACKUP, BACKUP.replace("BackupAndRestore", "tf.keras.callbacks.BackupAndRestore"))),
    right(14, "initial epoch left to the backup")((INITIAL, "")),
    right(13, "the way of communication by getattr")(
        ("CommunicationImplementation[args.communication]", "CommunicationImplementation.X"),
        (
            "tf.distribute.experimental.CommunicationImplementation.X",
            "getattr(tf.distribute.experimental.CommunicationImplementation, args.communication)",
        ),
    ),
    right(13, "the older name")(
        (
            STRATEGY,
            "strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(\n"
            "    tf.distribute.experimental.CollectiveCommunication[args.communication]\n)\n",
        )
    ),
    right(13, "imported by name")(
        (STRATEGY, "from tensorflow import distribute\n\n" + STRATEGY.replace("tf.distribute", "distribute"))
    ),
    right(13, "a resolver given")(
        (
            STRATEGY,
            "resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()\n"
            + STRATEGY.replace("Strategy(\n", "Strategy(\n    cluster_resolver=resolver,\n", 1),
        )
    ),
    right(13, "the resolver says who it is")(
        (CHIEF, ""), (VERBOSE, "    verbose=int(strategy.cluster_resolver.task_id == 0),\n")
    ),
    right(14, "the strategy says who saves")(
        (CHIEF, ""), (STRATEGY, STRATEGY + "chief = strategy.extended.should_checkpoint\n")
    ),
    right(14, "the number of the last epoch from the history")(
        ("model.fit(\n", "history = model.fit(\n"),
        (LAST, LAST.replace("args.epochs", "max(history.epoch, default=args.epochs - 1) + 1")),
    ),
    right(14, "the last epoch saved by a callback")(
        (LAST, ""), (CHECKPOINT, CHECKPOINT + CHECKPOINT.replace(", save_freq=args.save_freq", ""))
    ),
    right(14, "a folder removed at exit")(
        (IMPORT, "import argparse\nimport atexit\n"),
        ("import tempfile\n", "import shutil\nimport tempfile\n"),
        (THROWN, "thrown_away = tempfile.mkdtemp()\natexit.register(shutil.rmtree, thrown_away, True)\n"),
        ("thrown_away.name", "thrown_away"),
    ),
    right(14, "a folder removed after the last save")(
        ("import tempfile\n", "import shutil\nimport tempfile\n"),
        (LOG_DIR, 'log_dir = args.log_dir if chief else f"{args.log_dir}/others/worker-{index}"\n'),
        (LAST, LAST + "if not chief:\n    shutil.rmtree(log_dir)\n"),
    ),
    right(14, "the backup by its older name")(
        (BACKUP, BACKUP.replace("BackupAndRestore", "tf.keras.callbacks.experimental.BackupAndRestore"))
    ),
    right(14, "callbacks of the script's own classes")(
        (
            "callbacks = [\n",
            "class Backup(BackupAndRestore):\n    pass\n\n\n"
            "class Checkpoint(ModelCheckpoint):\n    pass\n\n\ncallbacks = [\n",
        ),
        (BACKUP, BACKUP.replace("BackupAndRestore", "Backup")),
        (CHECKPOINT, CHECKPOINT.replace("ModelCheckpoint", "Checkpoint")),
    ),
)
