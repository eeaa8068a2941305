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
from tests.corpus.variant import Variant

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
    Variant("the solution of step 15", 15, ()),
    Variant(
        "all other roles turned away by name", 15, ((WHO, 'if resolver.task_type in ("worker", "ps", "evaluator"):\n'),)
    ),
    Variant(
        "the role as the check of TF_CONFIG returns it",
        15,
        ((CHECK, "kind, _ = tf_config.check()\n"), (WHO, 'if kind != "chief":\n')),
    ),
    Variant(
        "another role ends without an error",
        15,
        (
            ("import os\n", "import os\nimport sys\n"),
            (NOT_CHIEF, WHO + "    print('not the chief')\n    sys.exit()\n"),
        ),
    ),
    Variant(
        "the check of TF_CONFIG imported by its name",
        15,
        (
            (
                "from course import mobilenet, tf_config\n",
                "from course import mobilenet\nfrom course.tf_config import check\n",
            ),
            (CHECK, "check(patience=60)\n"),
        ),
    ),
    Variant(
        "the older name",
        15,
        (("tf.distribute.ParameterServerStrategy(", "tf.distribute.experimental.ParameterServerStrategy("),),
    ),
    Variant(
        "the number of servers by the cluster's description",
        15,
        (('resolver.cluster_spec().num_tasks("ps")', 'len(resolver.cluster_spec().as_dict()["ps"])'),),
    ),
    Variant("256 KiB by another arithmetic", 15, (("256 << 10", "256 * 1024"),)),
    Variant("a partitioner of TensorFlow 1", 15, ((PARTITIONER, _OLDER_PARTITIONER),)),
    Variant("the least size left out, which is the same", 15, (("min_shard_bytes=256 << 10, ", ""),)),
    Variant("a partitioner of one's own", 15, ((STRATEGY, _OWN_PARTITIONER),)),
    Variant(
        "GPUs taken away by a variable",
        15,
        (("import tensorflow", 'os.environ["CUDA_VISIBLE_DEVICES"] = ""\nimport tensorflow'), (NO_GPU, "")),
    ),
    Variant(
        "the batch size divided by the context's replicas",
        15,
        ((BATCH, "    batch_size = args.batch_size // context.num_replicas_in_sync\n"),),
    ),
    Variant("shuffled after it is repeated", 15, ((IMAGES, IMAGES.replace(".repeat()", ".repeat().shuffle(64)")),)),
    Variant(
        "steps rounded up",
        15,
        ((STEPS, 'steps_per_epoch = -(-mobilenet.count(f"{args.data_dir}/train") // args.batch_size)\n'),),
    ),
    Variant(
        "a whole number of steps that is a float",
        15,
        ((STEPS, 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train") / args.batch_size // 1\n'),),
    ),
    Variant(
        "a function without a name",
        15,
        ((CREATOR, CREATOR.replace("(train_data)", "(lambda context: train_data(context))")),),
    ),
    Variant(
        "a subclass of DatasetCreator",
        15,
        (("model.fit(\n", _SUBCLASS), (CREATOR, "    Creator(train_data),\n")),
    ),
    Variant(
        "the backup's folder joined", 15, ((BACKUP, '    BackupAndRestore(os.path.join(args.log_dir, "backup")),\n'),)
    ),
    Variant(
        "the backup by its older name",
        15,
        ((BACKUP, BACKUP.replace("BackupAndRestore", "tf.keras.callbacks.experimental.BackupAndRestore")),),
    ),
    Variant(
        "a partitioner with a name",
        15,
        (
            (
                STRATEGY,
                "cut = " + PARTITIONER.strip().removeprefix("variable_partitioner=").removesuffix(",") + "\n"
                "strategy = tf.distribute.ParameterServerStrategy(resolver, cut)\n",
            ),
        ),
    ),
    Variant(
        "functions, with main() and loggers",
        15,
        (
            ("import os\n", "import logging\nimport os\n"),
            ("import tensorflow as tf\n", f"import tensorflow as tf\n{_LOGGER}"),
            (_REST, f'def main():\n{textwrap.indent(_REST, "    ")}\n\nif __name__ == "__main__":\n    main()\n'),
            ("            print(f", "            logger.info(f"),
        ),
    ),
)
