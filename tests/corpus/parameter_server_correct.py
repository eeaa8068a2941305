"""Correct scripts of step 15, parameter servers. Each one passes."""

import textwrap

from course.steps import SOLUTIONS
from tests.corpus.parameter_server_passages import (
    BACKUP,
    BATCH,
    CHECK,
    CREATOR,
    IMAGES,
    NO_GPU,
    NOT_CHIEF,
    PARTITIONER,
    SOLUTION,
    STEPS,
    STRATEGY,
    WHO,
)
from tests.corpus.variant import right

_OLDER_PARTITIONER = (
    "    variable_partitioner=tf.compat.v1.min_max_variable_partitioner(\n"
    '        max_partitions=resolver.cluster_spec().num_tasks("ps"), min_slice_size=256 << 10\n'
    "    ),\n"
)
_OWN_PARTITIONER = """def cut(shape, dtype, axis=0):
    whole = shape.num_elements() * dtype.size
    most = min(resolver.cluster_spec().num_tasks("ps"), shape[axis] or 1, whole // 2**18)
    return [max(1, most) if number == axis else 1 for number in range(len(shape))]


strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=cut)
"""

_SUBCLASS = """class Creator(tf.keras.utils.experimental.DatasetCreator):
    pass


model.fit(
"""

_LOGGER = """
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
logger = logging.getLogger("coordinator")
"""
# All that follows the arguments.
_REST = CHECK + (SOLUTIONS / SOLUTION).read_text().partition(CHECK)[2]

CORRECT = (
    right(15, "the solution of step 15")(),
    right(15, "all other roles turned away by name")(
        (WHO, 'if resolver.task_type in ("worker", "ps", "evaluator"):\n')
    ),
    right(15, "the role as the check of TF_CONFIG returns it")(
        (CHECK, "kind, _ = tf_config.check()\n"), (WHO, 'if kind != "chief":\n')
    ),
    right(15, "another role ends without an error")(
        ("import os\n", "import os\nimport sys\n"), (NOT_CHIEF, WHO + "    print('not the chief')\n    sys.exit()\n")
    ),
    right(15, "the check of TF_CONFIG imported by its name")(
        (
            "from course import mobilenet, tf_config\n",
            "from course import mobilenet\nfrom course.tf_config import check\n",
        ),
        (CHECK, "check(patience=60)\n"),
    ),
    right(15, "the older name")(
        ("tf.distribute.ParameterServerStrategy(", "tf.distribute.experimental.ParameterServerStrategy(")
    ),
    right(15, "the number of servers by the cluster's description")(
        ('resolver.cluster_spec().num_tasks("ps")', 'len(resolver.cluster_spec().as_dict()["ps"])')
    ),
    right(15, "256 KiB by another arithmetic")(("256 << 10", "256 * 1024")),
    right(15, "a partitioner of TensorFlow 1")((PARTITIONER, _OLDER_PARTITIONER)),
    right(15, "the least size left out, which is the same")(("min_shard_bytes=256 << 10, ", "")),
    right(15, "a partitioner of one's own")((STRATEGY, _OWN_PARTITIONER)),
    right(15, "GPUs taken away by a variable")(
        ("import tensorflow", 'os.environ["CUDA_VISIBLE_DEVICES"] = ""\nimport tensorflow'), (NO_GPU, "")
    ),
    right(15, "the batch size divided by the context's replicas")(
        (BATCH, "    batch_size = args.batch_size // context.num_replicas_in_sync\n")
    ),
    right(15, "shuffled after it is repeated")((IMAGES, IMAGES.replace(".repeat()", ".repeat().shuffle(64)"))),
    right(15, "steps rounded up")(
        (STEPS, 'steps_per_epoch = -(-mobilenet.count(f"{args.data_dir}/train") // args.batch_size)\n')
    ),
    right(15, "a whole number of steps that is a float")(
        (STEPS, 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train") / args.batch_size // 1\n')
    ),
    right(15, "a function without a name")(
        (CREATOR, CREATOR.replace("(train_data)", "(lambda context: train_data(context))"))
    ),
    right(15, "a subclass of DatasetCreator")(("model.fit(\n", _SUBCLASS), (CREATOR, "    Creator(train_data),\n")),
    right(15, "the backup's folder joined")((BACKUP, '    BackupAndRestore(os.path.join(args.log_dir, "backup")),\n')),
    right(15, "the backup by its older name")(
        (BACKUP, BACKUP.replace("BackupAndRestore", "tf.keras.callbacks.experimental.BackupAndRestore"))
    ),
    right(15, "a partitioner with a name")(
        (
            STRATEGY,
            "cut = " + PARTITIONER.strip().removeprefix("variable_partitioner=").removesuffix(",") + "\n"
            "strategy = tf.distribute.ParameterServerStrategy(resolver, cut)\n",
        )
    ),
    right(15, "functions, with main() and loggers")(
        ("import os\n", "import logging\nimport os\n"),
        ("import tensorflow as tf\n", f"import tensorflow as tf\n{_LOGGER}"),
        (_REST, f'def main():\n{textwrap.indent(_REST, "    ")}\n\nif __name__ == "__main__":\n    main()\n'),
        ("            print(f", "            logger.info(f"),
    ),
)
