"""Train a network with a shortcut on Fashion-MNIST with Keras and tf.distribute, and resume after a kill.

    python -m course cluster worker:2="fashion_either.py --hidden 64 --epochs 3"
    python -m course cluster ps:2=worker_and_ps.py worker:2=worker_and_ps.py chief="fashion_either.py --hidden 64"

TF_CONFIG says what this process is. In a cluster of workers alone, it is one of them, and all train together. In a
cluster with parameter servers it is the coordinator of workers that train on their own.

The model is saved at the end, as model.keras in --log-dir. A training that is killed and started again continues after
the last epoch that it had finished.
"""

import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import data, tf_config

parser = argparse.ArgumentParser(
    description="Train a network with a shortcut on Fashion-MNIST.",
    formatter_class=argparse.ArgumentDefaultsHelpFormatter,
)
parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with the four Fashion-MNIST files")
parser.add_argument("--train-samples", type=int, help="use the first of the images only, those held out included")
parser.add_argument("--batch-size", type=int, default=10, help="images per step, of each worker")
parser.add_argument("--hidden", type=int, default=256, help="units of each hidden layer")
parser.add_argument("--rate", type=float, default=0.01, help="learning rate of one process")
parser.add_argument("--epochs", type=int, default=10, help="epochs to train for")
parser.add_argument("--log-dir", default="./logs", help="folder for the model, the backup and TensorBoard's logs")


def new_strategy(resolver, task_type, servers):
    """Return the strategy for a task of the cluster that the resolver knows, which has so many parameter servers."""
    if not servers:
        return tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    if task_type != "chief":
        raise SystemExit(f"This is the coordinator, the chief of a cluster. TF_CONFIG says that it is: {task_type}.")
    # The coordinator computes no steps, and leaves the GPUs to the workers.
    tf.config.set_visible_devices([], "GPU")
    partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(256 << 10, max_shards=servers)
    return tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner)


def load(args):
    """Return the images and labels to train on, and those held out, a sixth; images are float32 (n, 784), 0 to 1."""
    (images, labels), _ = data.load(args.data_dir, args.train_samples)
    images = images.reshape(-1, 784).astype("float32") / 255
    held_out = len(images) // 6
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def batches(images, labels, batch_size, seed):
    """Return batches of images with their labels, over and over, each time in another order."""
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shuffle(len(images), seed).repeat().batch(batch_size)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return dataset.with_options(options)


def distributed(images, labels, batch_size, served):
    """Return what fit takes, with or without parameter servers, for batches that all replicas of a step share."""
    if not served:
        # Workers take their parts of one and the same batch, so the order has to be the same on all of them.
        return batches(images, labels, batch_size, seed=0)

    # This runs on each worker. No batch is shared out, so each has an order of its own.
    def on_a_worker(context):
        return batches(images, labels, context.get_per_replica_batch_size(batch_size), seed=None)

    return tf.keras.utils.experimental.DatasetCreator(on_a_worker)


def new_model(hidden, rate):
    """Build and compile the network: two hidden layers, of which the second adds to what the first one found."""
    inputs = tf.keras.Input((784,))
    first = tf.keras.layers.Dense(hidden, activation="relu")(inputs)
    second = tf.keras.layers.Dense(hidden, activation="relu")(first)
    outputs = tf.keras.layers.Dense(10)(first + second)
    model = tf.keras.Model(inputs, outputs)
    model.compile(
        optimizer=tf.keras.optimizers.SGD(rate),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def train(args, strategy, served, chief, log_dir):
    """Train and save the model, and return its accuracy on the images held out after the last epoch.

    args.log_dir is the folder that all processes see, and log_dir is where this one writes.
    """
    training, validation = load(args)
    # The workers of one step. With parameter servers it is one: each step is a single worker's.
    together = strategy.num_replicas_in_sync
    batch_size = args.batch_size * together
    with strategy.scope():
        # If several workers make each step together, an epoch has fewer steps, so each has to be longer.
        model = new_model(args.hidden, args.rate * together)
    fit = model.fit(
        distributed(*training, batch_size, served),
        # The data repeat endlessly, so fit() needs the number of steps in one pass over them.
        steps_per_epoch=len(training[0]) // batch_size,
        epochs=args.epochs,
        callbacks=[
            tf.keras.callbacks.TensorBoard(f"{log_dir}/tensorboard"),
            tf.keras.callbacks.BackupAndRestore(f"{args.log_dir}/backup"),
        ],
        validation_data=distributed(*validation, batch_size, served),
        validation_steps=len(validation[0]) // batch_size,
        verbose=2 if chief else 0,
    )
    model.save(f"{log_dir}/model.keras")
    return fit.history.get("val_accuracy", [None])[-1]


if __name__ == "__main__":
    arguments = parser.parse_args()
    task_type, index = tf_config.check()
    of_cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    servers = len(of_cluster.cluster_spec().as_dict().get("ps", []))
    over_all = new_strategy(of_cluster, task_type, servers)
    # Workers other than the chief have to take part in saving, and write to a temporary folder.
    is_chief = task_type == "chief" or index == 0
    with tempfile.TemporaryDirectory() as thrown_away:
        reached = train(arguments, over_all, bool(servers), is_chief, arguments.log_dir if is_chief else thrown_away)
    if is_chief:
        print(f"Validation accuracy of the last epoch: {reached}")
