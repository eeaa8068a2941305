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
from tests.corpus.variant import Variant, wrong


def _at_both_steps(variant: Variant) -> tuple[Variant, Variant]:
    """Return a variant that is judged at step 13, and the same edits of the last solution, judged at step 14.

    A mark in_ci=True stays with the first, so that each marked row is one script.
    """
    return variant, replace(variant, name=f"{variant.name}, at the end", step=14, base=FINAL, in_ci=False)


WRONG = (
    wrong(13, "nothing done at step 13", base=START)(),
    wrong(14, "nothing done at step 14", base="mnist_multi_worker_after_step_13.py")(),
    wrong(13, "a strategy for one worker")((STRATEGY, "strategy = tf.distribute.MirroredStrategy()\n")),
    wrong(13, "the default strategy")((STRATEGY, "strategy = tf.distribute.get_strategy()\n")),
    wrong(13, "a tensor before the strategy")((WHO, "tf.zeros(1)\n" + WHO)),
    wrong(13, "a seed drawn before the strategy")((WHO, "seed = tf.random.uniform([])\n" + WHO)),
    wrong(13, "devices listed before the strategy")((WHO, "devices = tf.config.list_logical_devices()\n" + WHO)),
    wrong(13, "a dataset before the strategy")((WHO, "numbers = tf.data.Dataset.range(3)\n" + WHO)),
    wrong(13, "the strategy after the data")((STRATEGY, ""), (BATCH, "train = tf.constant(images)\n" + PLAIN + BATCH)),
    *_at_both_steps(wrong(13, "the model outside of the scope")((SCOPE, "model = make_or_restore_model()\n"))),
    wrong(13, "the scope made and not entered")((SCOPE, "scope = strategy.scope()\nmodel = make_or_restore_model()\n")),
    wrong(13, "the scope around the training alone", check="in_scope")(
        (SCOPE, "model = make_or_restore_model()\n"), ("model.fit(\n", "with strategy.scope():\n  model.fit(\n")
    ),
    wrong(13, "the optimizer outside of the scope", fails=0)(
        (
            "def make_model():\n",
            "adam = tf.keras.optimizers.Adam(args.lr)\nadam.build([tf.Variable(0.0)])\n\n\ndef make_model():\n",
        ),
        ("optimizer=tf.keras.optimizers.Adam(args.lr)", "optimizer=adam"),
    ),
    *_at_both_steps(wrong(13, "batches not scaled")((BATCH, "batch_size = args.batch_size\n"))),
    wrong(13, "batches scaled by a constant")((BATCH, "batch_size = args.batch_size * 2\n")),
    wrong(13, "batches scaled twice")((".batch(batch_size)", ".batch(batch_size * strategy.num_replicas_in_sync)")),
    wrong(13, "batches divided", fails=0)((BATCH, "batch_size = args.batch_size // strategy.num_replicas_in_sync\n")),
    *_at_both_steps(
        wrong(13, "steps of all images, those held out too")((STEPS, "steps_per_epoch = len(images) // batch_size\n"))
    ),
    wrong(13, "steps of one worker's batches")(
        (STEPS, "steps_per_epoch = (len(images) - held_out) // args.batch_size\n")
    ),
    wrong(13, "a constant number of steps")((STEPS, "steps_per_epoch = 12\n")),
    wrong(13, "divided by the workers once more")(
        (STEPS, "steps_per_epoch = (len(images) - held_out) // batch_size // strategy.num_replicas_in_sync\n")
    ),
    wrong(13, "no repeat")((".repeat()", "")),
    wrong(13, "one epoch alone")(("epochs=args.epochs", "epochs=1")),
    *_at_both_steps(wrong(13, "nothing shared out")(("AutoShardPolicy.DATA", "AutoShardPolicy.OFF"))),
    wrong(13, "files to share out, of which there are none", fails=0)(("AutoShardPolicy.DATA", "AutoShardPolicy.FILE")),
    wrong(13, "trained on what is held out")(
        ("dataset_of(images[held_out:], labels[held_out:])", "dataset_of(images, labels)")
    ),
    *_at_both_steps(wrong(13, "all report")((VERBOSE, "    verbose=1,\n"))),
    wrong(13, "no worker reports")((VERBOSE, "    verbose=0,\n")),
    wrong(13, "the others print")(("model.fit(\n", 'print("worker", index)\nmodel.fit(\n')),
    wrong(13, "the others log", check="chief_reports")(
        ("import os\n", "import logging\nimport os\n"),
        ("model.fit(\n", 'logging.warning("worker %d trains", index)\nmodel.fit(\n'),
    ),
    wrong(13, "one worker alone validates", fails=0)(
        ("    validation_data=val_data,\n", "    validation_data=val_data if chief else None,\n")
    ),
    wrong(13, "one worker alone trains", fails=0)(("model.fit(\n", "chief and model.fit(\n")),
    wrong(13, "one index twice", fails=0)(
        (IMPORT, "import argparse\nimport json\n"),
        (
            WHO,
            'config = json.loads(os.environ.get("TF_CONFIG", "{}"))\n'
            'config["task"] = {"type": "worker", "index": 0}\n'
            'os.environ["TF_CONFIG"] = json.dumps(config)\n' + WHO,
        ),
    ),
    wrong(13, "TF_CONFIG thrown away")((WHO, 'os.environ.pop("TF_CONFIG", None)\n' + WHO)),
    wrong(14, "all write to one folder")((LOG_DIR, "log_dir = args.log_dir\n")),
    wrong(14, "checkpoints of all in one folder")((CHECKPOINT, CHECKPOINT.replace("{log_dir}", "{args.log_dir}"))),
    wrong(14, "logs of all in one folder")((BOARD, BOARD.replace("{log_dir}", "{args.log_dir}"))),
    wrong(14, "the last save of all in one place")((LAST, LAST.replace("{log_dir}", "{args.log_dir}"))),
    wrong(14, "the chief throws away")((LOG_DIR, "log_dir = thrown_away.name if chief else args.log_dir\n")),
    wrong(14, "no backup")((BACKUP, "")),
    wrong(14, "a backup of the chief's")(
        (BACKUP, ""), ("model.fit(\n", f"if chief:\n    callbacks += [\n{BACKUP}    ]\nmodel.fit(\n")
    ),
    wrong(14, "a backup for each worker")((BACKUP, BACKUP.replace("/backup", "/backup-{index}"))),
    wrong(14, "a backup that is thrown away")((BACKUP, BACKUP.replace("{args.log_dir}", "{log_dir}"))),
    wrong(14, "a backup once an epoch")((BACKUP, '    BackupAndRestore(f"{args.log_dir}/backup"),\n')),
    wrong(14, "no checkpoints")((CHECKPOINT, ""), (LAST, "")),
    wrong(14, "the backup in a list that nothing gets")(
        (BACKUP, ""), ("model.fit(\n", f"backup = [\n{BACKUP}]\nmodel.fit(\n")
    ),
    wrong(13, "no communication options", check="communication")((STRATEGY, PLAIN)),
    wrong(13, "the ring, whatever the flag says", check="communication")(
        ("CommunicationImplementation[args.communication]", "CommunicationImplementation.RING")
    ),
    wrong(13, "no restore", check="restored")((SCOPE, "with strategy.scope():\n    model = make_model()\n")),
    wrong(13, "restored by the chief alone", check="restored")((NEWEST, "    if newest and chief:\n")),
    wrong(13, "epochs counted from the beginning", check="restored")((INITIAL, "")),
    wrong(13, "no checkpoint at all", check="restored")(
        ('    ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True),\n', "")
    ),
    wrong(13, "shared out twice, other images in each pass", check="parts")(
        (PIPELINE, PIPELINE.replace(".repeat()", ".shard(strategy.num_replicas_in_sync, index).repeat()"))
    ),
    wrong(13, "shared out twice", check="parts")(
        (PIPELINE, "    dataset = dataset.shard(strategy.num_replicas_in_sync, index)\n" + PIPELINE)
    ),
    wrong(13, "a slice for each worker, and shared out again", check="parts")(
        (
            "train_data = dataset_of(images[held_out:], labels[held_out:])",
            "size = strategy.num_replicas_in_sync\n"
            "train_data = dataset_of(images[held_out:][index::size], labels[held_out:][index::size])",
        )
    ),
    wrong(13, "validation not shared out", check="parts")(
        (
            "val_data = dataset_of(images[:held_out], labels[:held_out])\n",
            "val_data = dataset_of(images[:held_out], labels[:held_out])\n"
            "off = tf.data.Options()\n"
            "off.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF\n"
            "val_data = val_data.with_options(off)\n",
        )
    ),
    wrong(13, "validation steps of one worker", check="steps")(
        (VALIDATION, "validation_steps = held_out // args.batch_size\n")
    ),
    wrong(13, "check() after the strategy", check="strategy_first")(
        (WHO + CHIEF, ""), (STRATEGY, STRATEGY + "\n" + WHO + CHIEF)
    ),
    wrong(13, "a file that one worker lacks", fails=0)(
        ("model.fit(\n", "if index == 1:\n    open('settings.json')\nmodel.fit(\n")
    ),
    wrong(14, "folders of the others kept", check="thrown_away")(
        (THROWN, "thrown_away = tempfile.mkdtemp()\n"), ("thrown_away.name", "thrown_away")
    ),
    wrong(14, "a folder for each worker", check="thrown_away")(
        (LOG_DIR, 'log_dir = args.log_dir if chief else f"{args.log_dir}/others/worker-{index}"\n')
    ),
    wrong(14, "no save at the end", check="last_save", in_ci=True)((LAST, "")),
    wrong(14, "the last save under another name", check="last_save")(
        (LAST, LAST.replace("after-{args.epochs}", "final"))
    ),
    wrong(14, "the last save elsewhere", check="last_save")((LAST, LAST.replace("/checkpoints/", "/"))),
    wrong(14, "a whole model under another name at the end", check="last_save")(
        (LAST, 'model.save(f"{log_dir}/model")\n')
    ),
    wrong(14, "the chief alone saves at the end", check="last_save")((LAST, "if chief:\n    " + LAST)),
    wrong(14, "each epoch saved in another folder, and not the end", check="last_save")(
        (LAST, ""),
        (
            CHECKPOINT,
            CHECKPOINT + '    ModelCheckpoint(f"{log_dir}/epochs/after-{{epoch}}", save_weights_only=True),\n',
        ),
    ),
    wrong(14, "checkpoints of the chief alone", check="checkpoints")(
        (CHECKPOINT, ""), ("model.fit(\n", f"if chief:\n    callbacks += [\n{CHECKPOINT}    ]\nmodel.fit(\n")
    ),
    wrong(14, "a checkpoint once per epoch", check="checkpoints")(
        (CHECKPOINT, CHECKPOINT.replace(", save_freq=args.save_freq", ""))
    ),
    wrong(14, "whole models, which nothing loads", check="checkpoints")(
        (CHECKPOINT, CHECKPOINT.replace('{{epoch}}", save_weights_only=True', '{{epoch}}.keras"'))
    ),
    wrong(14, "a backup after every step", check="backups")(
        (BACKUP, '    BackupAndRestore(f"{args.log_dir}/backup", save_freq=1),\n')
    ),
    wrong(14, "the backup elsewhere", check="one_backup")(("{args.log_dir}/backup", "{args.log_dir}-backup")),
)
