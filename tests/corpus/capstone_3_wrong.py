"""Wrong scripts of the third part's capstone: each has one mistake that learners make."""

from tests.corpus.capstone_3_passages import (
    BACKUP,
    BATCH_SIZE,
    CHECK,
    CREATOR,
    EPOCHS,
    FUNCTION,
    MODEL,
    NO_GPU,
    OWN_FOLDER,
    PARTITIONER,
    POLICY,
    ROLE,
    SAVE,
    SCOPE,
    STEPS,
    THROWN_AWAY,
    VALIDATION_STEPS,
    VERBOSE,
    WORKERS_STRATEGY,
)
from tests.corpus.variant import wrong

ASKED = "context.get_per_replica_batch_size(batch_size)"
ON_A_WORKER = "return batches(images, labels, context.get_per_replica_batch_size(batch_size), seed=None)"

WRONG = (
    wrong(103, "nothing done at capstone 3", fails=13, check="strategy_first", base="fashion_either.py"),
    wrong(
        103,
        "no strategy without servers",
        (WORKERS_STRATEGY, "        return tf.distribute.get_strategy()\n"),
        fails=13,
        check="strategy_first",
    ),
    wrong(103, "the model outside of the scope", (SCOPE, "if strategy:"), fails=13, check="in_scope"),
    wrong(
        103,
        "the batch of one worker",
        (BATCH_SIZE, "    batch_size = args.batch_size\n"),
        fails=13,
        check="global_batch",
    ),
    wrong(103, "all images on every worker", (POLICY, "AutoShardPolicy.OFF"), fails=13, check="parts"),
    wrong(
        103,
        "the steps of one worker",
        (STEPS, "steps_per_epoch=len(training[0]) // args.batch_size"),
        fails=13,
        check="steps",
    ),
    wrong(
        103,
        "each worker validates on all",
        (VALIDATION_STEPS, "validation_steps=len(validation[0]) // args.batch_size"),
        fails=13,
        check="steps",
    ),
    wrong(103, "every worker reports", (VERBOSE, "verbose=2"), fails=13, check="chief_reports"),
    wrong(103, "every worker writes to the logs", (OWN_FOLDER, "arguments.log_dir"), fails=14, check="thrown_away"),
    wrong(
        103,
        "what is thrown away stays",
        (THROWN_AWAY, "    for thrown_away in [tempfile.mkdtemp()]:\n"),
        fails=14,
        check="thrown_away",
    ),
    wrong(
        103,
        "a backup for each worker",
        (BACKUP, BACKUP.replace("{args.log_dir}", "{log_dir}")),
        fails=14,
        check="one_backup",
    ),
    wrong(
        103,
        "TF_CONFIG is not checked",
        (CHECK, ""),
        ("    servers = len(", "    task_type, index = of_cluster.task_type, of_cluster.task_id\n    servers = len("),
        fails=15,
        check="tf_config",
    ),
    wrong(103, "no check of the role", (ROLE, ""), fails=15, check="role"),
    wrong(103, "a coordinator with GPUs", (NO_GPU, ""), fails=15, check="gpus"),
    wrong(103, "no partitioner", (PARTITIONER, ""), fails=15, check="strategy"),
    wrong(103, "a batch that no context was asked for", (ASKED, "batch_size"), fails=15, check="batch_size"),
    wrong(
        103,
        "the same order on the servers' workers",
        (ON_A_WORKER, ON_A_WORKER.replace("None", "0")),
        fails=15,
        check="images",
    ),
    wrong(
        103,
        "no backup on servers",
        (BACKUP, ""),
        (
            "        callbacks=[\n",
            "        callbacks=([] if served else [\n"
            '            tf.keras.callbacks.BackupAndRestore(f"{args.log_dir}/backup"),\n'
            "        ]) + [\n",
        ),
        fails=15,
        check="backup",
    ),
    wrong(
        103,
        "data in place of the function",
        (FUNCTION, ""),
        (CREATOR, "batches(images, labels, batch_size, seed=None)"),
        fails=15,
        check="creator",
    ),
    wrong(
        103, "a coordinator that does not save", (SAVE, "    if not served:\n    " + SAVE), fails=15, check="unchanged"
    ),
    wrong(
        103,
        "twice the steps on servers",
        (STEPS, "steps_per_epoch=len(training[0]) // batch_size * (2 if served else 1)"),
        fails=15,
        check="unchanged",
    ),
    wrong(103, "more epochs for more workers", (EPOCHS, "epochs=args.epochs * together,"), check="no_more_images"),
    wrong(103, "the rate of one process", (MODEL, MODEL.replace(" * together", "")), check="accuracy"),
)
