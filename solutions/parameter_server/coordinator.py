"""Train MobileNetV2 on folders of images with Keras.

    python coordinator.py --data-dir images --classes 10 --image-size 32 --alpha 0.35 --epochs 3

The data have a folder of images for each class, in train/ and in val/.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import mobilenet, tf_config
from tensorflow.keras.callbacks import BackupAndRestore, LearningRateScheduler, ModelCheckpoint, TensorBoard

parser = mobilenet.flags("Train MobileNetV2 on folders of images.")
parser.add_argument("--lr", type=float, default=0.05, help="learning rate to begin with")
args = parser.parse_args()

# Step 15: TF_CONFIG says which task this process is, and where all tasks are. If it is wrong, TensorFlow waits
# indefinitely. check() ends the process with a message instead.
tf_config.check()
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type != "chief":
    raise SystemExit(f"The coordinator is the chief of a cluster. TF_CONFIG says that this is: {resolver.task_type}.")

# Step 15: the coordinator computes no steps, so it leaves all GPUs to the workers.
tf.config.set_visible_devices([], "GPU")

# Step 15: the variables are on the parameter servers. A large one is cut into at most as many parts as there are
# servers, by its first dimension, as long as no part gets smaller than 256 KiB.
strategy = tf.distribute.ParameterServerStrategy(
    resolver,
    variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
        min_shard_bytes=256 << 10, max_shards=resolver.cluster_spec().num_tasks("ps")
    ),
)

# --- Data -------------------------------------------------------------------------------------------------------------


def augment(image, label):
    """Zoom into the image by up to a fifth, shift it within what that leaves, and flip every other one."""
    side = tf.random.uniform([], args.image_size, args.image_size * 6 // 5 + 1, tf.int32)
    image = tf.image.random_crop(tf.image.resize(image, (side, side)), (args.image_size, args.image_size, 3))
    return tf.image.random_flip_left_right(image), label


# Step 15: this is called once, and its graph runs on each worker, with random seeds of its own. So each worker reads
# all images, in an order of its own. Shards would need the worker's number, which the context does not have.
def train_data(context):
    """Return batches of images with their labels, over and over, each time in another order."""
    # Step 15: the images that one replica takes at a time. A worker with one GPU, or none, is one replica.
    batch_size = context.get_per_replica_batch_size(args.batch_size)
    images = mobilenet.images(f"{args.data_dir}/train", args.image_size, shuffle=True).repeat()
    return images.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(batch_size).prefetch(tf.data.AUTOTUNE)


# The data repeat endlessly, so fit() needs the number of steps in which the workers take as many images as there are.
steps_per_epoch = mobilenet.count(f"{args.data_dir}/train") // args.batch_size

# --- Model ------------------------------------------------------------------------------------------------------------


def make_model():
    """Build and compile the network."""
    model = mobilenet.network(args.image_size, args.classes, args.alpha)
    model.compile(
        optimizer=tf.keras.optimizers.SGD(args.lr),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


# Step 15: what is made here, the optimizer's variables too, is on the parameter servers.
with strategy.scope():
    model = make_model()

# --- Training ---------------------------------------------------------------------------------------------------------


def lr_schedule(epoch):
    """Return the learning rate of an epoch: a tenth of it in the last third."""
    return args.lr if epoch < args.epochs * 2 / 3 else args.lr / 10


class PrintLearningRate(tf.keras.callbacks.Callback):
    """Print the learning rate of each epoch. A callback for each step would not be allowed on a cluster."""

    def on_epoch_end(self, epoch, logs=None):
        """Print the optimizer's rate, which a callback may have changed."""
        print(f"Epoch {epoch + 1}: the learning rate was {self.model.optimizer.learning_rate.numpy():.2g}")


callbacks = [
    LearningRateScheduler(lr_schedule),
    PrintLearningRate(),
    # An evaluator reads the epoch from the end of the name.
    ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True),
    TensorBoard(f"{args.log_dir}/tensorboard"),
    # Step 15: a parameter server that dies takes variables with it. Started again, all resume from the last epoch.
    BackupAndRestore(f"{args.log_dir}/backup"),
]

model.fit(
    # Step 15: the function, and not the data, which are made on the workers.
    tf.keras.utils.experimental.DatasetCreator(train_data),
    steps_per_epoch=steps_per_epoch,
    epochs=args.epochs,
    callbacks=callbacks,
    verbose=2,  # a line for each epoch: on a cluster, no process waits for the end of a single step
)

model.save(f"{args.log_dir}/model.keras")
