"""Correct scripts of the third part's capstone. Each one passes."""

from tests.corpus.capstone_3_passages import (
    BACKUP,
    BATCH_SIZE,
    CHIEF,
    CREATOR,
    FUNCTION,
    MODEL,
    POLICY,
    SAME_ORDER,
    SERVERS,
    SHUFFLED,
    SOLUTION,
    THROWN_AWAY,
    TOGETHER,
    TRAIN,
    VERBOSE,
)
from tests.corpus.variant import before, passage, right

IMPORTS = "import argparse\nimport os\n"

_TASK = '''@dataclass(frozen=True)
class Task:
    """What this process is in its cluster."""

    kind: str
    index: int

    @functools.cached_property
    def resolver(self) -> tf.distribute.cluster_resolver.ClusterResolver:
        return tf.distribute.cluster_resolver.TFConfigClusterResolver()

    @property
    def servers(self) -> int:
        return len(self.resolver.cluster_spec().as_dict().get("ps", ()))

    @property
    def is_chief(self) -> bool:
        return self.kind == "chief" or self.index == 0

    @property
    def logger(self) -> logging.Logger:
        logger = logging.getLogger(f"{self.kind} {self.index}")
        logger.setLevel(logging.INFO if self.is_chief else logging.ERROR)
        return logger


'''
_MAIN = """def main():
    logging.basicConfig(format="%(name)s: %(message)s")
    arguments = parser.parse_args()
    task = Task(*tf_config.check())
    strategy = new_strategy(task.resolver, task.kind, task.servers)
    with tempfile.TemporaryDirectory() as own:
        folder = arguments.log_dir if task.is_chief else own
        reached = train(arguments, strategy, task.servers > 0, task.is_chief, folder)
    task.logger.info("validation accuracy of the last epoch: %s", reached)


if __name__ == "__main__":
    main()
"""

CORRECT = (
    right(103, "the solution of capstone 3", in_ci=True)(),
    right(103, "the servers counted in TF_CONFIG itself")(
        (IMPORTS, "import argparse\nimport json\nimport os\n"),
        (
            SERVERS,
            '    servers = len(json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {}).get("ps", []))\n',
        ),
    ),
    right(103, "the chief by the resolver's number")((CHIEF, "    is_chief = not of_cluster.task_id\n")),
    right(103, "each worker shuffles in its own way")((SAME_ORDER, "batch_size, seed=None)")),
    right(103, "whole batches before they repeat")(
        (SHUFFLED, "dataset.shuffle(len(images), seed).batch(batch_size, drop_remainder=True).repeat()")
    ),
    right(103, "batches left to AUTO")((POLICY, "AutoShardPolicy.AUTO")),
    right(103, "the workers counted in the cluster")(
        (
            TOGETHER,
            "    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec().as_dict()\n"
            '    together = 1 if served else len(cluster.get("worker", [0]))\n',
        )
    ),
    right(103, "the rate set once the model is made")(
        (
            MODEL,
            "        model = new_model(args.hidden, args.rate)\n"
            "        model.optimizer.learning_rate.assign(args.rate * together)\n",
        )
    ),
    right(103, "a function without a name")(
        (FUNCTION, ""),
        (
            CREATOR,
            "tf.keras.utils.experimental.DatasetCreator(\n"
            "        lambda of: batches(images, labels, of.get_per_replica_batch_size(batch_size), seed=None)\n"
            "    )",
        ),
    ),
    right(103, "a folder that is removed by hand")(
        ("import os\nimport tempfile\n", "import os\nimport shutil\nimport tempfile\n"),
        (
            THROWN_AWAY + TRAIN,
            "    thrown_away = tempfile.mkdtemp()\n"
            "    own_folder = arguments.log_dir if is_chief else thrown_away\n"
            "    reached = train(arguments, over_all, bool(servers), is_chief, own_folder)\n"
            "    shutil.rmtree(thrown_away)\n",
        ),
    ),
    right(103, "a line of its own for each epoch")(
        (
            BACKUP,
            BACKUP
            + "            tf.keras.callbacks.LambdaCallback(\n"
            + "                on_epoch_end=lambda epoch, logs: print(epoch + 1, logs) if chief else None\n"
            + "            ),\n",
        ),
        (VERBOSE, "verbose=0"),
    ),
    right(103, "the batch of each strategy where it is made")(
        (BATCH_SIZE, "    batch_size = args.batch_size if served else args.batch_size * together\n")
    ),
    right(103, "the task in a dataclass, with a logger")(
        (IMPORTS, "import argparse\nimport functools\nimport logging\nimport os\nfrom dataclasses import dataclass\n"),
        before("def new_strategy(", _TASK),
        (passage(SOLUTION, 'if __name__ == "__main__":', "print(f"), _MAIN),
    ),
)
