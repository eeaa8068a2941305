"""Train MobileNetV2 on folders of images with Keras.

    python coordinator.py --data-dir images --classes 10 --image-size 32 --alpha 0.35 --epochs 3

The data have a folder of images for each class, in train/ and in val/.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import mobilenet
from tensorflow.keras.callbacks import LearningRateScheduler, ModelCheckpoint, TensorBoard

parser = mobilenet.flags("Train MobileNetV2 on folders of images.")
parser.add_argument("--lr", type=float, default=0.05, help="learning rate to begin with")
args = parser.parse_args()

# TODO: Step 15: see that this process is the chief, and keep it off the GPUs. The cluster's addresses come from a
# resolver, and the strategy puts variables on the parameter servers, large ones in parts.

# --- Data -------------------------------------------------------------------------------------------------------------


def augment(image, label):
    """Zoom into the image by up to a fifth, shift it within what that leaves, and flip every other one."""
    side = tf.random.uniform([], args.image_size, args.image_size * 6 // 5 + 1, tf.int32)
    image = tf.image.random_crop(tf.image.resize(image, (side, side)), (args.image_size, args.image_size, 3))
    return tf.image.random_flip_left_right(image), label


# TODO: Step 15: let it take what Keras tells it about the worker's input pipeline.
def train_data():
    """Return batches of images with their labels, over and over, each time in another order."""
    # TODO: Step 15: the images that one replica takes at a time.
    batch_size = args.batch_size
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


# TODO: Step 15: make the model where the strategy puts each variable on a parameter server.
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
    # TODO: Step 15: a parameter server that dies takes variables with it. Back up what is needed to resume.
]

model.fit(
    # TODO: Step 15: give the function and not the data, which are made on the workers.
    train_data(),
    steps_per_epoch=steps_per_epoch,
    epochs=args.epochs,
    callbacks=callbacks,
    verbose=2,  # a line for each epoch: on a cluster, no process waits for the end of a single step
)

model.save(f"{args.log_dir}/model.keras")
