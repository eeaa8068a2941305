"""Correct scripts of step 15, parameter servers. Each one passes."""

from tests.corpus.parameter_server_passages import BATCH, CREATOR, NO_GPU, STEPS, WHO
from tests.corpus.variant import Variant

CORRECT = (
    Variant("the solution of step 15", 15, (), in_ci=True),
    Variant("who it is, asked in another way", 15, ((WHO, 'if resolver.task_type == "worker":\n'),)),
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
    Variant("the least size left out, which is the same", 15, (("min_shard_bytes=256 << 10, ", ""),)),
    Variant(
        "GPUs taken away by a variable",
        15,
        (("import tensorflow", 'os.environ["CUDA_VISIBLE_DEVICES"] = ""\nimport tensorflow'), (NO_GPU, "")),
    ),
    Variant("the batch size as it is", 15, ((BATCH, "    batch_size = args.batch_size\n"),)),
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
)
