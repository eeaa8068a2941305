"""Wrong scripts of step 15, parameter servers: each has one mistake that learners make."""

from tests.corpus.parameter_server_passages import (
    BACKUP,
    BATCH,
    CHECK,
    CHECKPOINTS,
    CREATOR,
    FIT_STEPS,
    IMAGES,
    MOST,
    NO_GPU,
    NOT_CHIEF,
    ONE_GPU,
    PARTITIONER,
    SAVE,
    SCOPE,
    SERVE,
    STEPS,
    STRATEGY,
    WHO,
)
from tests.corpus.variant import Variant, wrong


def _wrong(name: str, check: str, *edits: tuple[str, str], in_ci: bool = False) -> Variant:
    """Return a row whose first failing check is this one."""
    return wrong(15, name, check=check, in_ci=in_ci)(*edits)


def _images(text: str) -> tuple[str, str]:
    """Return the edit that gives the input function other images: this text stands after those in constant order."""
    return IMAGES, IMAGES.replace("shuffle=True", "shuffle=False").replace(".repeat()", text)


WRONG = (
    wrong(15, "nothing done at step 15", check="tf_config", base=ONE_GPU)(),
    # 1. TF_CONFIG, the role, GPUs, the strategy
    _wrong("TF_CONFIG is not checked", "tf_config", (CHECK, "")),
    _wrong("TF_CONFIG is checked after the strategy is made", "tf_config", (CHECK, ""), (STRATEGY, STRATEGY + CHECK)),
    _wrong(
        "a server of its own, then the check of TF_CONFIG",
        "tf_config",
        (CHECK, ""),
        (NO_GPU, NO_GPU + SERVE + "\n" + CHECK),
    ),
    _wrong("no check of the role", "role", (NOT_CHIEF, ""), in_ci=True),
    _wrong("workers alone are turned away", "role", (WHO, 'if resolver.task_type == "worker":\n')),
    _wrong("an inverted role", "role", (WHO, 'if resolver.task_type == "chief":\n')),
    _wrong(
        "the role is asked for after the strategy is made", "role", (NOT_CHIEF, ""), (STRATEGY, STRATEGY + NOT_CHIEF)
    ),
    _wrong("the coordinator keeps the GPUs", "gpus", (NO_GPU, "")),
    _wrong("no partitioner", "strategy", (PARTITIONER, "")),
    _wrong("cut down to the last byte", "strategy", ("256 << 10", "1 << 10")),
    _wrong("parts of 128 KiB", "strategy", ("256 << 10", "128 << 10")),
    _wrong("256 bytes", "strategy", ("256 << 10", "256")),
    _wrong("cut into one part", "strategy", (MOST, "max_shards=1")),
    _wrong("a constant number of parts", "strategy", (MOST, "max_shards=2")),
    _wrong("one part per worker", "strategy", (MOST, MOST.replace("ps", "worker"))),
    _wrong(
        "everything cut",
        "strategy",
        (PARTITIONER, "    variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(2),\n"),
    ),
    _wrong(
        "another strategy",
        "strategy",
        (STRATEGY, "strategy = tf.distribute.get_strategy()\n"),
        (CREATOR, "    train_data(tf.distribute.InputContext()),\n"),
    ),
    _wrong(
        "the coordinator serves, too", "strategy", ("with strategy.scope():", SERVE + ".join()\nwith strategy.scope():")
    ),
    wrong(15, "the partitioner's numbers swapped", fails=0)(
        (f"min_shard_bytes=256 << 10, {MOST}", f"{MOST.replace('max_shards', 'min_shard_bytes')}, max_shards=256 << 10")
    ),
    wrong(15, "a wait without an end", fails=0)(
        (NO_GPU, NO_GPU + "while True:\n    time.sleep(1)\n"), ("import os\n", "import os\nimport time\n")
    ),
    # 2. The input function
    _wrong("the batch size as it is", "batch_size", (BATCH, "    batch_size = args.batch_size\n")),
    _wrong(
        "the batch size divided by the workers",
        "batch_size",
        (BATCH, '    batch_size = args.batch_size // resolver.cluster_spec().num_tasks("worker")\n'),
    ),
    _wrong("no repeat", "images", (IMAGES, IMAGES.replace(".repeat()", ""))),
    _wrong("some images alone", "images", _images(".take(9).shuffle(64).repeat()")),
    _wrong(
        "a share for the first worker", "images", _images(".shard(2, context.input_pipeline_id).shuffle(64).repeat()")
    ),
    _wrong("not shuffled", "images", _images(".repeat()")),
    _wrong("a seed for all workers", "images", (NO_GPU, NO_GPU + "tf.random.set_seed(1)\n")),
    _wrong("shuffled with a seed", "images", _images(".shuffle(64, seed=1).repeat()")),
    # 3. to 5. The model, the backup, the function
    _wrong("the model outside of the scope", "scope", (SCOPE, "model = make_model()\n")),
    _wrong("no backup", "backup", (BACKUP, "")),
    _wrong("the backup in another folder", "backup", (BACKUP, BACKUP.replace("backup", "saved"))),
    _wrong(
        "a backup in a folder that is new each time",
        "backup",
        ("import os\n", "import os\nimport tempfile\n"),
        (BACKUP, "    BackupAndRestore(tempfile.mkdtemp()),\n"),
    ),
    _wrong(
        "a dataset in place of the function", "creator", (CREATOR, "    train_data(tf.distribute.InputContext()),\n")
    ),
    _wrong("a function by itself", "creator", (CREATOR, "    train_data,\n")),
    # The rest
    _wrong(
        "steps of one image each", "unchanged", (STEPS, 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train")\n')
    ),
    _wrong(
        "steps divided by the workers",
        "unchanged",
        (STEPS, STEPS + 'steps_per_epoch //= resolver.cluster_spec().num_tasks("worker")\n'),
    ),
    _wrong("a constant number of steps", "unchanged", (STEPS, "steps_per_epoch = 3\n")),
    _wrong("no number of steps", "unchanged", (FIT_STEPS, "")),
    _wrong("no checkpoints", "unchanged", (CHECKPOINTS, "")),
    _wrong("the trained model is not saved", "unchanged", (SAVE, "")),
)
