"""Wrong scripts of step 15, parameter servers: each has one mistake that learners make."""

from tests.corpus.parameter_server_passages import (
    BACKUP,
    CREATOR,
    FIT_STEPS,
    NO_GPU,
    ONE_GPU,
    PARTITIONER,
    SAVE,
    SCOPE,
    STEPS,
)
from tests.corpus.variant import Variant

WRONG = (
    Variant("nothing done at step 15", 15, (), 15, ONE_GPU, in_ci=True),
    Variant("no partitioner", 15, ((PARTITIONER, ""),), 15),
    Variant("cut down to the last byte", 15, (("256 << 10", "1 << 10"),), 15),
    Variant("cut into one part", 15, (('max_shards=resolver.cluster_spec().num_tasks("ps")', "max_shards=1"),), 15),
    Variant(
        "everything cut",
        15,
        (
            (
                PARTITIONER,
                "    variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(2),\n",
            ),
        ),
        15,
    ),
    Variant("the coordinator keeps the GPUs", 15, ((NO_GPU, ""),), 15),
    Variant("the model outside of the scope", 15, ((SCOPE, "model = make_model()\n"),), 15),
    Variant(
        "another strategy",
        15,
        (
            (
                "strategy = tf.distribute.ParameterServerStrategy(\n    resolver,\n" + PARTITIONER + ")\n",
                "strategy = tf.distribute.get_strategy()\n",
            ),
            (CREATOR, "    train_data(tf.distribute.InputContext()),\n"),
        ),
        15,
    ),
    Variant("no backup", 15, ((BACKUP, ""),), 15),
    Variant(
        "steps of one image each", 15, ((STEPS, 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train")\n'),), 15
    ),
    Variant("a constant number of steps", 15, ((STEPS, "steps_per_epoch = 3\n"),), 15),
    Variant("no number of steps", 15, ((FIT_STEPS, ""),), 0),
    Variant("data that exist on the coordinator", 15, ((CREATOR, "    train_data,\n"),), 0),
    Variant("the trained model is not saved", 15, ((SAVE, ""),), 15),
    Variant(
        "the coordinator serves, too",
        15,
        (
            (
                "with strategy.scope():",
                "tf.distribute.Server(resolver.cluster_spec(), 'chief', 0).join()\nwith strategy.scope():",
            ),
        ),
        0,
    ),
)
