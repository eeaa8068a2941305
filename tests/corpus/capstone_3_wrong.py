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
from tests.corpus.variant import Variant

ASKED = "context.get_per_replica_batch_size(batch_size)"
ON_A_WORKER = "return batches(images, labels, context.get_per_replica_batch_size(batch_size), seed=None)"

WRONG = (
    Variant("nothing done at capstone 3", 103, (), 13, "fashion_either.py", "strategy_first"),
    Variant(
        "no strategy without servers",
        103,
        ((WORKERS_STRATEGY, "        return tf.distribute.get_strategy()\n"),),
        13,
        check="strategy_first",
    ),
    Variant("the model outside of the scope", 103, ((SCOPE, "if strategy:"),), 13, check="in_scope"),
    Variant(
        "the batch of one worker", 103, ((BATCH_SIZE, "    batch_size = args.batch_size\n"),), 13, check="global_batch"
    ),
    Variant("all images on every worker", 103, ((POLICY, "AutoShardPolicy.OFF"),), 13, check="parts"),
    Variant(
        "the steps of one worker",
        103,
        ((STEPS, "steps_per_epoch=len(training[0]) // args.batch_size"),),
        13,
        check="steps",
    ),
    Variant(
        "each worker validates on all",
        103,
        ((VALIDATION_STEPS, "validation_steps=len(validation[0]) // args.batch_size"),),
        13,
        check="steps",
    ),
    Variant("every worker reports", 103, ((VERBOSE, "verbose=2"),), 13, check="chief_reports"),
    Variant("every worker writes to the logs", 103, ((OWN_FOLDER, "arguments.log_dir"),), 14, check="thrown_away"),
    Variant(
        "what is thrown away stays",
        103,
        ((THROWN_AWAY, "    for thrown_away in [tempfile.mkdtemp()]:\n"),),
        14,
        check="thrown_away",
    ),
    Variant(
        "a backup for each worker",
        103,
        ((BACKUP, BACKUP.replace("{args.log_dir}", "{log_dir}")),),
        14,
        check="one_backup",
    ),
    Variant(
        "TF_CONFIG is not checked",
        103,
        (
            (CHECK, ""),
            (
                "    servers = len(",
                "    task_type, index = of_cluster.task_type, of_cluster.task_id\n    servers = len(",
            ),
        ),
        15,
        check="tf_config",
    ),
    Variant("no check of the role", 103, ((ROLE, ""),), 15, check="role"),
    Variant("a coordinator with GPUs", 103, ((NO_GPU, ""),), 15, check="gpus"),
    Variant("no partitioner", 103, ((PARTITIONER, ""),), 15, check="strategy"),
    Variant("a batch that no context was asked for", 103, ((ASKED, "batch_size"),), 15, check="batch_size"),
    Variant(
        "the same order on the servers' workers",
        103,
        ((ON_A_WORKER, ON_A_WORKER.replace("None", "0")),),
        15,
        check="images",
    ),
    Variant(
        "no backup on servers",
        103,
        (
            (BACKUP, ""),
            (
                "        callbacks=[\n",
                "        callbacks=([] if served else [\n"
                '            tf.keras.callbacks.BackupAndRestore(f"{args.log_dir}/backup"),\n'
                "        ]) + [\n",
            ),
        ),
        15,
        check="backup",
    ),
    Variant(
        "data in place of the function",
        103,
        ((FUNCTION, ""), (CREATOR, "batches(images, labels, batch_size, seed=None)")),
        15,
        check="creator",
    ),
    Variant(
        "a coordinator that does not save",
        103,
        ((SAVE, "    if not served:\n    " + SAVE),),
        15,
        check="unchanged",
    ),
    Variant(
        "twice the steps on servers",
        103,
        ((STEPS, "steps_per_epoch=len(training[0]) // batch_size * (2 if served else 1)"),),
        15,
        check="unchanged",
    ),
    Variant(
        "more epochs for more workers",
        103,
        ((EPOCHS, "epochs=args.epochs * together,"),),
        103,
        check="no_more_images",
    ),
    Variant(
        "the rate of one process",
        103,
        ((MODEL, MODEL.replace(" * together", "")),),
        103,
        check="accuracy",
    ),
)
