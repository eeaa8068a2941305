"""Repairs of the cases of TensorFlow's strategies, and tries that are none."""

from tests.corpus.multi_worker_passages import BACKUP, STRATEGY
from tests.corpus.repair import Repair, fails, repairs

_BATCH = "batch_size = args.batch_size\n"
_STEPS = "steps_per_epoch = (len(images) - held_out) // batch_size\n"

_INDEX = 'index = int(os.environ.get("WORKER_INDEX", "0"))\n'
_RECONFIGURED = """if "TF_CONFIG" in os.environ:
    workers = json.loads(os.environ["TF_CONFIG"])["cluster"]
    os.environ["TF_CONFIG"] = tf_config.make(workers, "worker", index)
"""
_FROM_TF_CONFIG = 'index = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0)\n'

_OWN_BACKUP = BACKUP.replace("/backup", "/backup-{index}")

_PASS = "    images = mobilenet.images("
_MAPPED = "images.map(augment, num_parallel_calls=tf.data.AUTOTUNE)"

_LAST = "    max_evaluations=args.max_evaluations or args.epochs + 1,\n"
_FLAG = 'type=int, help="number of the last checkpoint"'

REPAIRS: list[Repair] = [
    # 22: the batch of one worker
    repairs(22, "the number of workers from the cluster")(
        (
            _BATCH,
            'batch_size = args.batch_size * len(strategy.cluster_resolver.cluster_spec().as_dict()["worker"])\n',
        )
    ),
    repairs(22, "multiplied where it is used")(
        (".batch(batch_size)", ".batch(batch_size * strategy.num_replicas_in_sync)"),
        (_STEPS, _STEPS.replace("batch_size", "(batch_size * strategy.num_replicas_in_sync)")),
        (
            "validation_steps = held_out // batch_size",
            "validation_steps = held_out // (batch_size * strategy.num_replicas_in_sync)",
        ),
    ),
    fails(22, "half of the steps")(
        (_STEPS, _STEPS.replace("batch_size", "batch_size // strategy.num_replicas_in_sync"))
    ),
    fails(22, "each worker by itself")(
        (_BATCH, "batch_size = args.batch_size * 2\n"), (STRATEGY, "strategy = tf.distribute.MirroredStrategy()\n")
    ),
    # 23: both processes are worker 0
    repairs(23, "read from TF_CONFIG")((_INDEX, _FROM_TF_CONFIG), (_RECONFIGURED, "")),
    repairs(23, "WORKER_INDEX only if it is set")(
        (_INDEX, ""),
        (
            _RECONFIGURED,
            """index = 0
if "TF_CONFIG" in os.environ:
    config = json.loads(os.environ["TF_CONFIG"])
    index = int(os.environ.get("WORKER_INDEX", config["task"]["index"]))
    os.environ["TF_CONFIG"] = tf_config.make(config["cluster"], "worker", index)
""",
        ),
    ),
    fails(23, "both are worker 1")((_INDEX, _INDEX.replace('"0"', '"1"'))),
    fails(23, "TF_CONFIG is removed")((_RECONFIGURED, 'os.environ.pop("TF_CONFIG", None)\n')),
    # 24: a backup for each worker
    repairs(24, "the folder in front of the callbacks")(
        (_OWN_BACKUP, "    BackupAndRestore(backup, save_freq=args.save_freq),\n"),
        ("callbacks = [\n", 'backup = os.path.join(args.log_dir, "backup")\ncallbacks = [\n'),
    ),
    repairs(24, "the backup of worker 0")((_OWN_BACKUP, BACKUP.replace("/backup", "/backup-0"))),
    fails(24, "the others have none")((_OWN_BACKUP, BACKUP.replace("{args.log_dir}", "{log_dir}"))),
    fails(24, "no backup")((_OWN_BACKUP, "")),
    # 25: one pass over the data
    repairs(25, "repeated at the end")(
        (".prefetch(tf.data.AUTOTUNE)", ".repeat().prefetch(tf.data.AUTOTUNE)"),
    ),
    repairs(25, "repeated before the images are changed")((_MAPPED, _MAPPED.replace("images.", "images.repeat()."))),
    fails(25, "half of the steps")(
        ("// args.batch_size\n", '// args.batch_size // resolver.cluster_spec().num_tasks("worker")\n')
    ),
    fails(25, "always in the same order")(
        (_MAPPED, _MAPPED.replace("images.", "images.repeat().")), ("shuffle=True", "shuffle=False")
    ),
    # 26: a checkpoint too many
    repairs(26, "the flag has the number")(
        (_LAST, "    max_evaluations=args.max_evaluations,\n"),
        (
            "args = parser.parse_args()\n",
            "args = parser.parse_args()\nargs.max_evaluations = args.max_evaluations or args.epochs\n",
        ),
    ),
    repairs(26, "a default of 0")(
        (_FLAG, _FLAG.replace("type=int,", "type=int, default=0,")),
        (_LAST, "    max_evaluations=args.max_evaluations if args.max_evaluations > 0 else args.epochs,\n"),
    ),
    fails(26, "the flag is forgotten")((_LAST, "    max_evaluations=args.epochs,\n")),
    fails(26, "the first checkpoint alone")((_LAST, "    max_evaluations=1,\n")),
]
