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
    wrong(103, "nothing done at capstone 3", fails=13, check="strategy_first", base="fashion_either.py")(),
    wrong(103, "no strategy without servers", fails=13, check="strategy_first")(
        (WORKERS_STRATEGY, "        return tf.distribute.get_strategy()\n")
    ),
    wrong(103, "the model outside of the scope", fails=13, check="in_scope")((SCOPE, "if strategy:")),
    wrong(103, "the batch of one worker", fails=13, check="global_batch")(
        (BATCH_SIZE, "    batch_size = args.batch_size\n")
    ),
    wrong(103, "all images on every worker", fails=13, check="parts")((POLICY, "AutoShardPolicy.OFF")),
    wrong(103, "the steps of one worker", fails=13, check="steps")(
        (STEPS, "steps_per_epoch=len(training[0]) // args.batch_size")
    ),
    wrong(103, "each worker validates on all", fails=13, check="steps")(
        (VALIDATION_STEPS, "validation_steps=len(validation[0]) // args.batch_size")
    ),
    wrong(103, "every worker reports", fails=13, check="chief_reports")((VERBOSE, "verbose=2")),
    wrong(103, "every worker writes to the logs", fails=14, check="thrown_away")((OWN_FOLDER, "arguments.log_dir")),
    wrong(103, "what is thrown away stays", fails=14, check="thrown_away")(
        (THROWN_AWAY, "    for thrown_away in [tempfile.mkdtemp()]:\n")
    ),
    wrong(103, "a backup for each worker", fails=14, check="one_backup")(
        (BACKUP, BACKUP.replace("{args.log_dir}", "{log_dir}"))
    ),
    wrong(103, "TF_CONFIG is not checked", fails=15, check="tf_config")(
        (CHECK, ""),
        ("    servers = len(", "    task_type, index = of_cluster.task_type, of_cluster.task_id\n    servers = len("),
    ),
    wrong(103, "no check of the role", fails=15, check="role")((ROLE, "")),
    wrong(103, "a coordinator with GPUs", fails=15, check="gpus")((NO_GPU, "")),
    wrong(103, "no partitioner", fails=15, check="strategy")((PARTITIONER, "")),
    wrong(103, "a batch that no context was asked for", fails=15, check="batch_size")((ASKED, "batch_size")),
    wrong(103, "the same order on the servers' workers", fails=15, check="images")(
        (ON_A_WORKER, ON_A_WORKER.replace("None", "0"))
    ),
    wrong(103, "no backup on servers", fails=15, check="backup")(
        (BACKUP, ""),
        (
            "        callbacks=[\n",
            "        callbacks=([] if served else [\n"
            '            tf.keras.callbacks.BackupAndRestore(f"{args.log_dir}/backup"),\n'
            "        ]) + [\n",
        ),
    ),
    wrong(103, "data in place of the function", fails=15, check="creator")(
        (FUNCTION, ""), (CREATOR, "batches(images, labels, batch_size, seed=None)")
    ),
    wrong(103, "a coordinator that does not save", fails=15, check="unchanged")(
        (SAVE, "    if not served:\n    " + SAVE)
    ),
    wrong(103, "twice the steps on servers", fails=15, check="unchanged")(
        (STEPS, "steps_per_epoch=len(training[0]) // batch_size * (2 if served else 1)")
    ),
    wrong(103, "more epochs for more workers", check="no_more_images")((EPOCHS, "epochs=args.epochs * together,")),
    wrong(103, "the rate of one process", check="accuracy")((MODEL, MODEL.replace(" * together", ""))),
)
