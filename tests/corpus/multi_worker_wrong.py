"""Wrong scripts of steps 13 and 14, several workers: each has one mistake that learners make."""

from dataclasses import replace

from tests.corpus.multi_worker_passages import (
    BACKUP,
    BATCH,
    BOARD,
    CHECKPOINT,
    CHIEF,
    FINAL,
    IMPORT,
    INITIAL,
    LAST,
    LOG_DIR,
    NEWEST,
    PIPELINE,
    PLAIN,
    SCOPE,
    START,
    STEPS,
    STRATEGY,
    THROWN,
    VALIDATION,
    VERBOSE,
    WHO,
)
from tests.corpus.variant import Variant


def _at_both_steps(variant: Variant) -> tuple[Variant, Variant]:
    """Return a variant that is judged at step 13, and the same edits of the last solution, judged at step 14.

    A mark in_ci=True stays with the first, so that each marked row is one script.
    """
    return variant, replace(variant, name=f"{variant.name}, at the end", step=14, base=FINAL, in_ci=False)


WRONG = (
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
    *_at_both_steps(Variant("the model outside of the scope", 13, ((SCOPE, "model = make_or_restore_model()\n"),), 13)),
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
        13,
        check="in_scope",
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
    *_at_both_steps(Variant("batches not scaled", 13, ((BATCH, "batch_size = args.batch_size\n"),), 13)),
    Variant("batches scaled by a constant", 13, ((BATCH, "batch_size = args.batch_size * 2\n"),), 13),
    Variant(
        "batches scaled twice", 13, ((".batch(batch_size)", ".batch(batch_size * strategy.num_replicas_in_sync)"),), 13
    ),
    Variant("batches divided", 13, ((BATCH, "batch_size = args.batch_size // strategy.num_replicas_in_sync\n"),), 0),
    *_at_both_steps(
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
    *_at_both_steps(Variant("nothing shared out", 13, (("AutoShardPolicy.DATA", "AutoShardPolicy.OFF"),), 13)),
    Variant("files to share out, of which there are none", 13, (("AutoShardPolicy.DATA", "AutoShardPolicy.FILE"),), 0),
    Variant(
        "trained on what is held out",
        13,
        (("dataset_of(images[held_out:], labels[held_out:])", "dataset_of(images, labels)"),),
        13,
    ),
    *_at_both_steps(Variant("all report", 13, ((VERBOSE, "    verbose=1,\n"),), 13)),
    Variant("no worker reports", 13, ((VERBOSE, "    verbose=0,\n"),), 13),
    Variant("the others print", 13, (("model.fit(\n", 'print("worker", index)\nmodel.fit(\n'),), 13),
    Variant(
        "the others log",
        13,
        (
            ("import os\n", "import logging\nimport os\n"),
            ("model.fit(\n", 'logging.warning("worker %d trains", index)\nmodel.fit(\n'),
        ),
        13,
        check="chief_reports",
    ),
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
        "the backup in a list that nothing gets",
        14,
        ((BACKUP, ""), ("model.fit(\n", f"backup = [\n{BACKUP}]\nmodel.fit(\n")),
        14,
    ),
    Variant("no communication options", 13, ((STRATEGY, PLAIN),), 13, check="communication"),
    Variant(
        "the ring, whatever the flag says",
        13,
        (("CommunicationImplementation[args.communication]", "CommunicationImplementation.RING"),),
        13,
        check="communication",
    ),
    Variant(
        "no restore",
        13,
        ((SCOPE, "with strategy.scope():\n    model = make_model()\n"),),
        13,
        check="restored",
        in_ci=True,
    ),
    Variant("restored by the chief alone", 13, ((NEWEST, "    if newest and chief:\n"),), 13, check="restored"),
    Variant("epochs counted from the beginning", 13, ((INITIAL, ""),), 13, check="restored"),
    Variant(
        "no checkpoint at all",
        13,
        (('    ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True),\n', ""),),
        13,
        check="restored",
    ),
    Variant(
        "shared out twice, other images in each pass",
        13,
        (
            (
                PIPELINE,
                PIPELINE.replace(".repeat()", ".shard(strategy.num_replicas_in_sync, index).repeat()"),
            ),
        ),
        13,
        check="parts",
    ),
    Variant(
        "shared out twice",
        13,
        ((PIPELINE, "    dataset = dataset.shard(strategy.num_replicas_in_sync, index)\n" + PIPELINE),),
        13,
        check="parts",
    ),
    Variant(
        "a slice for each worker, and shared out again",
        13,
        (
            (
                "train_data = dataset_of(images[held_out:], labels[held_out:])",
                "size = strategy.num_replicas_in_sync\n"
                "train_data = dataset_of(images[held_out:][index::size], labels[held_out:][index::size])",
            ),
        ),
        13,
        check="parts",
    ),
    Variant(
        "validation not shared out",
        13,
        (
            (
                "val_data = dataset_of(images[:held_out], labels[:held_out])\n",
                "val_data = dataset_of(images[:held_out], labels[:held_out])\n"
                "off = tf.data.Options()\n"
                "off.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF\n"
                "val_data = val_data.with_options(off)\n",
            ),
        ),
        13,
        check="parts",
    ),
    Variant(
        "validation steps of one worker",
        13,
        ((VALIDATION, "validation_steps = held_out // args.batch_size\n"),),
        13,
        check="steps",
    ),
    Variant(
        "check() after the strategy",
        13,
        (
            (WHO + CHIEF, ""),
            (STRATEGY, STRATEGY + "\n" + WHO + CHIEF),
        ),
        13,
        check="strategy_first",
    ),
    Variant(
        "a file that one worker lacks",
        13,
        (("model.fit(\n", "if index == 1:\n    open('settings.json')\nmodel.fit(\n"),),
        0,
    ),
    Variant(
        "folders of the others kept",
        14,
        (
            (THROWN, "thrown_away = tempfile.mkdtemp()\n"),
            ("thrown_away.name", "thrown_away"),
        ),
        14,
        check="thrown_away",
    ),
    Variant(
        "a folder for each worker",
        14,
        ((LOG_DIR, 'log_dir = args.log_dir if chief else f"{args.log_dir}/others/worker-{index}"\n'),),
        14,
        check="thrown_away",
    ),
    Variant("no save at the end", 14, ((LAST, ""),), 14, check="last_save", in_ci=True),
    Variant(
        "the last save under another name",
        14,
        ((LAST, LAST.replace("after-{args.epochs}", "final")),),
        14,
        check="last_save",
    ),
    Variant("the last save elsewhere", 14, ((LAST, LAST.replace("/checkpoints/", "/")),), 14, check="last_save"),
    Variant(
        "a whole model under another name at the end",
        14,
        ((LAST, 'model.save(f"{log_dir}/model")\n'),),
        14,
        check="last_save",
    ),
    Variant("the chief alone saves at the end", 14, ((LAST, "if chief:\n    " + LAST),), 14, check="last_save"),
    Variant(
        "each epoch saved in another folder, and not the end",
        14,
        (
            (LAST, ""),
            (
                CHECKPOINT,
                CHECKPOINT + '    ModelCheckpoint(f"{log_dir}/epochs/after-{{epoch}}", save_weights_only=True),\n',
            ),
        ),
        14,
        check="last_save",
    ),
    Variant(
        "checkpoints of the chief alone",
        14,
        (
            (CHECKPOINT, ""),
            ("model.fit(\n", f"if chief:\n    callbacks += [\n{CHECKPOINT}    ]\nmodel.fit(\n"),
        ),
        14,
        check="checkpoints",
    ),
    Variant(
        "a checkpoint once per epoch",
        14,
        ((CHECKPOINT, CHECKPOINT.replace(", save_freq=args.save_freq", "")),),
        14,
        check="checkpoints",
    ),
    Variant(
        "whole models, which nothing loads",
        14,
        ((CHECKPOINT, CHECKPOINT.replace('{{epoch}}", save_weights_only=True', '{{epoch}}.keras"')),),
        14,
        check="checkpoints",
    ),
    Variant(
        "a backup after every step",
        14,
        ((BACKUP, '    BackupAndRestore(f"{args.log_dir}/backup", save_freq=1),\n'),),
        14,
        check="backups",
    ),
    Variant("the backup elsewhere", 14, (("{args.log_dir}/backup", "{args.log_dir}-backup"),), 14, check="one_backup"),
)
