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
    PLAIN,
    POLICY,
    SCOPE,
    STEPS,
    STRATEGY,
    VERBOSE,
    WHO,
    WITH_OPTIONS,
)
from tests.corpus.variant import Variant

CORRECT = (
    Variant("the solution of step 13", 13, (), in_ci=True),
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
        in_ci=True,
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
)
