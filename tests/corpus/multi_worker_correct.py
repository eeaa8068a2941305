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
from tests.corpus.variant import Variant

CORRECT = (
    Variant("the solution of step 13", 13, ()),
    Variant("the last solution, judged at step 13", 13, (), base=FINAL),
    Variant(
        "TF_CONFIG read by hand",
        13,
        (
            (IMPORT, "import argparse\nimport json\n"),
            (WHO, 'index = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0)\n'),
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
    Variant(
        "the scope inside of the function",
        13,
        (
            (SCOPE, RESTORE),
            ("    model = make_model()\n", "    with strategy.scope():\n        model = make_model()\n"),
        ),
    ),
    Variant("everything in the scope", 13, (("model.fit(\n", "with strategy.scope():\n  model.fit(\n"),)),
    Variant("told in other words", 13, ((VERBOSE, "    verbose=2 * (not index),\n"),)),
    Variant("the solution of step 14", 14, ()),
    Variant(
        "no log on the others",
        14,
        (
            (BOARD, ""),
            ("model.fit(\n", 'if chief:\n    callbacks.append(TensorBoard(f"{log_dir}/tensorboard"))\nmodel.fit(\n'),
        ),
    ),
    Variant("the backup in the first place", 14, ((BACKUP, ""), ("callbacks = [\n", "callbacks = [\n" + BACKUP))),
    Variant(
        "Keras' whole name", 14, ((BACKUP, BACKUP.replace("BackupAndRestore", "tf.keras.callbacks.BackupAndRestore")),)
    ),
    Variant("initial epoch left to the backup", 14, ((INITIAL, ""),)),
    Variant(
        "the way of communication by getattr",
        13,
        (
            ("CommunicationImplementation[args.communication]", "CommunicationImplementation.X"),
            (
                "tf.distribute.experimental.CommunicationImplementation.X",
                "getattr(tf.distribute.experimental.CommunicationImplementation, args.communication)",
            ),
        ),
    ),
    Variant(
        "the older name",
        13,
        (
            (
                STRATEGY,
                "strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(\n"
                "    tf.distribute.experimental.CollectiveCommunication[args.communication]\n)\n",
            ),
        ),
    ),
    Variant(
        "imported by name",
        13,
        ((STRATEGY, "from tensorflow import distribute\n\n" + STRATEGY.replace("tf.distribute", "distribute")),),
    ),
    Variant(
        "a resolver given",
        13,
        (
            (
                STRATEGY,
                "resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()\n"
                + STRATEGY.replace("Strategy(\n", "Strategy(\n    cluster_resolver=resolver,\n", 1),
            ),
        ),
    ),
    Variant(
        "the resolver says who it is",
        13,
        ((CHIEF, ""), (VERBOSE, "    verbose=int(strategy.cluster_resolver.task_id == 0),\n")),
    ),
    Variant(
        "the strategy says who saves",
        14,
        ((CHIEF, ""), (STRATEGY, STRATEGY + "chief = strategy.extended.should_checkpoint\n")),
    ),
    Variant(
        "the number of the last epoch from the history",
        14,
        (
            ("model.fit(\n", "history = model.fit(\n"),
            (LAST, LAST.replace("args.epochs", "max(history.epoch, default=args.epochs - 1) + 1")),
        ),
    ),
    Variant(
        "the last epoch saved by a callback",
        14,
        (
            (LAST, ""),
            (
                CHECKPOINT,
                CHECKPOINT + CHECKPOINT.replace(", save_freq=args.save_freq", ""),
            ),
        ),
    ),
    Variant(
        "a folder removed at exit",
        14,
        (
            (IMPORT, "import argparse\nimport atexit\n"),
            ("import tempfile\n", "import shutil\nimport tempfile\n"),
            (THROWN, "thrown_away = tempfile.mkdtemp()\natexit.register(shutil.rmtree, thrown_away, True)\n"),
            ("thrown_away.name", "thrown_away"),
        ),
    ),
    Variant(
        "a folder removed after the last save",
        14,
        (
            ("import tempfile\n", "import shutil\nimport tempfile\n"),
            (LOG_DIR, 'log_dir = args.log_dir if chief else f"{args.log_dir}/others/worker-{index}"\n'),
            (LAST, LAST + "if not chief:\n    shutil.rmtree(log_dir)\n"),
        ),
    ),
    Variant(
        "the backup by its older name",
        14,
        ((BACKUP, BACKUP.replace("BackupAndRestore", "tf.keras.callbacks.experimental.BackupAndRestore")),),
    ),
    Variant(
        "callbacks of the script's own classes",
        14,
        (
            (
                "callbacks = [\n",
                "class Backup(BackupAndRestore):\n    pass\n\n\n"
                "class Checkpoint(ModelCheckpoint):\n    pass\n\n\ncallbacks = [\n",
            ),
            (BACKUP, BACKUP.replace("BackupAndRestore", "Backup")),
            (CHECKPOINT, CHECKPOINT.replace("ModelCheckpoint", "Checkpoint")),
        ),
    ),
)
