"""Passages of the first capstone's solution that rows replace."""

import textwrap

from tests.corpus.variant import passage

SOLUTION = "fashion_mlp_solution.py"

IMPORT = "import horovod.tensorflow.keras as hvd\n"
IMPORT_BOTH = "import horovod.tensorflow as hvd_tf\n" + IMPORT
CHOICE = "gpus[0] if len(gpus) == 1 else gpus[hvd.local_rank()]"
PICK = f"    gpu = {CHOICE}\n"
SHARE = "    share = len(images) // hvd.size()\n"
SHARDED = "    dataset = dataset.shard(hvd.size(), hvd.rank()).take(share)\n"
SHUFFLED = "    if shuffled:\n        dataset = dataset.shuffle(share)\n"
BATCHED = "    return dataset.batch(batch_size)\n"
PIPELINE = SHARE + SHARDED + SHUFFLED + BATCHED
RETURN_NETWORK = '    return tf.keras.Model(image, tf.keras.layers.Dense(10, activation="softmax")(x))\n'
RATE = "args.learning_rate * hvd.size()"
SGD = f"tf.keras.optimizers.SGD({RATE})"
OPTIMIZER = f"optimizer=hvd.DistributedOptimizer({SGD}),"
BROADCAST = "        hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n"
AVERAGE = "        hvd.callbacks.MetricAverageCallback(),\n"
STOP = "        StopAt(args.stop_at),\n"
READ = '        if logs["val_accuracy"] >= self.accuracy:\n'
BOARD = "    if hvd.rank() == 0:\n        callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"
FIT = "    history = network.fit(\n"
EPOCHS = "        epochs=args.epochs,\n"
VERBOSE = "        verbose=2 if hvd.rank() == 0 else 0,\n"
REPORT = passage(SOLUTION, 'print(f"Validation accuracy after the last epoch').removeprefix("        ")


def own_step(*body: str) -> tuple[tuple[str, str], ...]:
    """Return edits for a network with its own training step, which computes its gradients in these lines."""
    lines = textwrap.indent("\n".join(body), " " * 8)
    step = (
        "class Network(tf.keras.Model):\n"
        "    def train_step(self, batch):\n"
        "        images, labels = batch\n"
        f"{lines}\n"
        "        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))\n"
        "        return self.compute_metrics(images, labels, answers, None)\n\n\n"
    )
    return (
        (IMPORT, IMPORT_BOTH),
        (OPTIMIZER, f"optimizer={SGD},"),
        ("def build_network(", f"{step}def build_network("),
        (RETURN_NETWORK, RETURN_NETWORK.replace("tf.keras.Model(", "Network(")),
    )
