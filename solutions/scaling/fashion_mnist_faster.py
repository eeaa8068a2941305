"""Train a wide residual network on Fashion-MNIST with Keras: in one process, and after step 6 in several.

    python fashion_mnist.py                                   # full size: depth 16, widen factor 10
    python fashion_mnist.py --widen-factor 1 --epochs 1 --train-samples 512 --test-samples 128

After step 6, start one process per GPU or CPU core:

    mpirun -np 4 python fashion_mnist.py ...                                                      # 4 on one host
    mpirun -np 8 --host a:4,b:4 --bind-to none --map-by slot -x PATH python fashion_mnist.py ...  # on 2 hosts

The network is the one of Zagoruyko and Komodakis, "Wide Residual Networks", 2016.
"""

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import data
from tensorflow.keras.preprocessing.image import ImageDataGenerator

# Step 1: Horovod's API for Keras.
import horovod.tensorflow.keras as hvd

# Step 1: find the other ranks, before anything else, so that even a wrong argument is one rank's to report.
hvd.init()

parser = argparse.ArgumentParser(
    description="Train a wide residual network on Fashion-MNIST.",
    formatter_class=argparse.ArgumentDefaultsHelpFormatter,
)
parser.add_argument("--log-dir", default="./logs", help="where TensorBoard logs go")
parser.add_argument("--batch-size", type=int, default=32, help="training batch size of each process")
parser.add_argument("--val-batch-size", type=int, default=32, help="validation batch size of each process")
parser.add_argument("--epochs", type=int, default=40, help="most epochs to train for")
parser.add_argument("--base-lr", type=float, default=0.01, help="learning rate of the first epochs")
parser.add_argument("--wd", type=float, default=0.000005, help="weight decay, as an L2 penalty")
parser.add_argument("--target-accuracy", type=float, default=0.85, help="validation accuracy to stop at")
parser.add_argument("--patience", type=int, default=2, help="epochs in a row at the target before stopping")
parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with the four Fashion-MNIST files")
parser.add_argument("--train-samples", type=int, help="train on the first of the images only")
parser.add_argument("--test-samples", type=int, help="test on the first of the images only")
parser.add_argument("--depth", type=int, default=16, help="layers of the network: 6 for each block a group, and 4")
parser.add_argument("--widen-factor", type=int, default=10, help="filters of the blocks, in units of 16, 32 and 64")
parser.add_argument("--seed", type=int, help="make the run repeatable")
args = parser.parse_args()

if args.seed is not None:
    # Step 1: each rank draws numbers of its own, or all would shift and flip their images alike.
    tf.keras.utils.set_random_seed(args.seed + hvd.rank())

# Step 1: one GPU per process. The local rank counts the processes of this host, as GPU numbers count its GPUs. Some
# launchers, such as srun --gpus-per-task=1, show each process one GPU only: its number is then 0, whatever the rank.
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    gpu = gpus[0] if len(gpus) == 1 else gpus[hvd.local_rank()]
    tf.config.set_visible_devices(gpu, "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)  # take memory as it is needed, not all of it at once

# Step 2: rank 0 reports for all. Not local rank 0, of which every host has one.
verbose = 1 if hvd.rank() == 0 else 0

# --- Data -------------------------------------------------------------------------------------------------------------

(x_train, y_train), (x_test, y_test) = data.load(args.data_dir, args.train_samples, args.test_samples)
x_train = x_train[..., None].astype("float32")  # Keras wants (images, height, width, channels)
x_test = x_test[..., None].astype("float32")

train_gen = ImageDataGenerator(
    featurewise_center=True,
    featurewise_std_normalization=True,
    width_shift_range=0.2,
    height_shift_range=0.2,
    horizontal_flip=True,
)
test_gen = ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)

# Test images are centred and scaled by the training set's mean and deviation: a model never learns from its test.
train_gen.fit(x_train)
test_gen.fit(x_train)

train_iter = train_gen.flow(x_train, y_train, batch_size=args.batch_size)
test_iter = test_gen.flow(x_test, y_test, batch_size=args.val_batch_size)

# --- Model ------------------------------------------------------------------------------------------------------------


def conv(x, filters, size, strides=1):
    """Convolve without a bias, since a batch normalisation follows, and with weight decay on the kernel."""
    return tf.keras.layers.Conv2D(
        filters,
        size,
        strides=strides,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
        kernel_regularizer=tf.keras.regularizers.l2(args.wd),
    )(x)


def norm_relu(x):
    """Normalise over the batch, then activate.

    The running averages that validation uses follow in tens of steps. With Keras' default of 0.99 it would be hundreds,
    more than an epoch has.
    """
    x = tf.keras.layers.BatchNormalization(momentum=0.9)(x)
    return tf.keras.layers.Activation("relu")(x)


def residual_block(x, filters, strides):
    """Add two 3x3 convolutions to their own input, which a 1x1 convolution fits in shape where it must."""
    activated = norm_relu(x)
    if strides != 1 or x.shape[-1] != filters:
        x = conv(activated, filters, 1, strides)
    y = conv(activated, filters, 3, strides)
    y = norm_relu(y)
    y = tf.keras.layers.Dropout(0.01)(y)
    y = conv(y, filters, 3)
    return tf.keras.layers.Add()([x, y])


def create_model():
    """Build the network: a stem of 16 filters, three groups of blocks, each wider than the one before, a classifier."""
    blocks = (args.depth - 4) // 6
    inputs = tf.keras.Input(shape=(28, 28, 1))
    x = conv(inputs, 16, 3)
    for filters, strides in ((16, 1), (32, 2), (64, 2)):
        for block in range(blocks):
            x = residual_block(x, filters * args.widen_factor, strides if block == 0 else 1)
    x = norm_relu(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    outputs = tf.keras.layers.Dense(10, activation="softmax", kernel_regularizer=tf.keras.regularizers.l2(args.wd))(x)
    return tf.keras.Model(inputs, outputs)


# --- Callbacks --------------------------------------------------------------------------------------------------------


def lr_schedule(epoch):
    """Return the learning rate of an epoch: it falls with the square of the epochs that are left, to nearly 0."""
    return args.base_lr * (1 - epoch / args.epochs) ** 2


class PrintThroughput(tf.keras.callbacks.Callback):
    """Print how many images of the training set an epoch got through in a second, validation left out."""

    def __init__(self, total_images):
        """Count an epoch as total_images images."""
        super().__init__()
        self.total_images = total_images

    def on_epoch_begin(self, epoch, logs=None):
        """Start the clock."""
        self.start = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        """Read the clock: the last batch's reading stays."""
        self.end = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Print the rate."""
        print(f"\nEpoch {epoch + 1}: {self.total_images / (self.end - self.start):.0f} images/sec")


class StopAtAccuracy(tf.keras.callbacks.Callback):
    """Stop training once validation accuracy has reached a target for several epochs in a row."""

    def __init__(self, target, patience):
        """Wait for patience epochs in a row at or over target."""
        super().__init__()
        self.target = target
        self.patience = patience
        self.reached = 0

    def on_epoch_end(self, epoch, logs=None):
        """Count the epoch, or start the count again."""
        self.reached = self.reached + 1 if logs["val_accuracy"] >= self.target else 0
        if self.reached >= self.patience:
            self.model.stop_training = True


class PrintTotalTime(tf.keras.callbacks.Callback):
    """Print the time since training began, after each epoch."""

    def on_train_begin(self, logs=None):
        """Start the clock."""
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Print the time."""
        print(f"\nEpoch {epoch + 1}: {time.perf_counter() - self.start:.1f} s since the start of training")


callbacks = []

# Step 4: after the first batch, when the optimizer's variables exist too, every rank takes over those of rank 0.
callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))

# Step 6: callbacks run in this order: those below see the mean of all ranks' metrics, and decide alike.
callbacks.append(hvd.callbacks.MetricAverageCallback())

callbacks.append(tf.keras.callbacks.LearningRateScheduler(lr_schedule))
callbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))

if verbose:
    callbacks.append(PrintThroughput(len(x_train)))
    callbacks.append(PrintTotalTime())
    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))

# --- Training ---------------------------------------------------------------------------------------------------------

model = create_model()

opt = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=0.9)

# Step 3: each step applies the mean of all ranks' gradients, so that all ranks take the same step.
# Step 24: gradients are exchanged as 16-bit numbers, and once for two batches. Those of both batches are summed, so an
# update is as large as two were: this has the effect of a batch twice as large at twice the learning rate.
opt = hvd.DistributedOptimizer(opt, compression=hvd.Compression.fp16, backward_passes_per_step=2)

model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])

# The iterators are endless, but Keras takes them for Sequences and would stop after one pass.
# Wrapped in plain generators they last for as many steps as fit() is given.
model.fit(
    (batch for batch in train_iter),
    # Step 5: all ranks together make one pass over the training set.
    steps_per_epoch=len(train_iter) // hvd.size(),
    epochs=args.epochs,
    callbacks=callbacks,
    verbose=verbose,
    validation_data=(batch for batch in test_iter),
    # Step 5: each rank draws at random, so they make three passes together to leave few images out.
    validation_steps=3 * len(test_iter) // hvd.size(),
)

test_once = test_gen.flow(x_test, y_test, batch_size=args.val_batch_size, shuffle=False)
score = model.evaluate(test_once, verbose=verbose)
if verbose:
    print(f"Test loss: {score[0]:.4f}")
    print(f"Test accuracy: {score[1]:.4f}")
