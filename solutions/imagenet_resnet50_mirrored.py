"""Train on folders of images with Keras, in one process on all GPUs of a host: ResNet50, or a small network as here.

    python imagenet_resnet50_mirrored.py --data-url imagenet
    python imagenet_resnet50_mirrored.py --data-url images --model small --image-size 32 --classes 10 --epochs 2

If there is no GPU, the CPU is split into two devices or more, to show how it works.

The data have a folder of images for each class, in train/ and in val/. Started again, it resumes from its newest
checkpoint. ResNet50 is that of He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2016.
"""

import argparse
import math
import os
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.applications import resnet50
from tensorflow.keras.preprocessing.image import ImageDataGenerator

warnings.filterwarnings("ignore", "You are saving your model as an HDF5 file")

parser = argparse.ArgumentParser(
    description="Train a network on folders of images.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
)
parser.add_argument("--data-url", default="./data", help="folder with the images")
parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints, TensorBoard logs and weights")
parser.add_argument("--checkpoint-format", default="checkpoint-{epoch}.h5", help="name of a checkpoint")
parser.add_argument("--batch-size", type=int, default=32, help="training batch size of each device")
parser.add_argument("--val-batch-size", type=int, default=32, help="validation batch size of each device")
parser.add_argument("--epochs", type=int, default=90, help="epochs to train for")
parser.add_argument("--base-lr", type=float, default=0.0125, help="learning rate of a single device")
parser.add_argument("--momentum", type=float, default=0.9, help="momentum of SGD")
parser.add_argument("--wd", type=float, default=0.00005, help="weight decay, decoupled")
parser.add_argument("--image-size", type=int, default=224, help="images are resized to this height and width")
parser.add_argument("--classes", type=int, default=1000, help="number of classes")
parser.add_argument("--model", choices=["resnet50", "small"], default="resnet50", help="small: for a laptop's cores")
parser.add_argument("--cpu-devices", type=int, default=2, help="without GPUs: number of devices on the CPU")
parser.add_argument("--seed", type=int, help="make the run repeatable")
args = parser.parse_args()

if args.seed is not None:
    tf.keras.utils.set_random_seed(args.seed)

# --- Devices ----------------------------------------------------------------------------------------------------------

# This comes before the strategy, which initialises the devices: after that, they cannot be changed.
if not tf.config.list_physical_devices("GPU"):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * args.cpu_devices)
    tf.config.threading.set_intra_op_parallelism_threads(1)  # one core per device

strategy = tf.distribute.MirroredStrategy()  # all GPUs, or all devices of the CPU if there is no GPU
devices = strategy.num_replicas_in_sync

# --- Data -------------------------------------------------------------------------------------------------------------

data_dir = Path(args.data_url)

train_gen = ImageDataGenerator(
    width_shift_range=0.1,
    height_shift_range=0.1,
    zoom_range=0.1,
    horizontal_flip=True,
    preprocessing_function=resnet50.preprocess_input,
)
val_gen = ImageDataGenerator(preprocessing_function=resnet50.preprocess_input)

# A batch is for all devices together: fit() splits it and gives each device its part.
shape = (args.image_size, args.image_size)
train_iter = train_gen.flow_from_directory(data_dir / "train", shape, batch_size=args.batch_size * devices)
val_iter = val_gen.flow_from_directory(data_dir / "val", shape, batch_size=args.val_batch_size * devices)


def even(images):
    """Yield batches that divide evenly among the devices: a device without an image would fail."""
    for x, y in images:
        size = math.ceil(len(x) / devices) * devices
        yield np.resize(x, (size, *x.shape[1:])), np.resize(y, (size, *y.shape[1:]))  # the first images are repeated


# --- Model ------------------------------------------------------------------------------------------------------------


def residual_block(x, filters, strides):
    """Add two 3x3 convolutions to their input; a 1x1 convolution gives the input the same shape."""
    shortcut = layers.Conv2D(filters, 1, strides)(x)
    y = layers.Conv2D(filters, 3, strides, padding="same", use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(y))
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization(momentum=0.9)(y)
    return layers.ReLU()(layers.Add()([shortcut, y]))


def small_network(inputs):
    """Return the features of a residual network that trains in seconds on two cores."""
    x = layers.Rescaling(1 / 64)(inputs)
    for filters in (16, 32, 64):
        x = residual_block(x, filters, strides=2)
    return layers.GlobalAveragePooling2D()(x)


def create_model():
    """Build the network: features, averaged over the image, and a softmax over the classes."""
    inputs = tf.keras.Input((*shape, 3))
    if args.model == "small":
        features = small_network(inputs)
    else:
        features = resnet50.ResNet50(weights=None, include_top=False, pooling="avg", input_tensor=inputs).output
    return tf.keras.Model(inputs, layers.Dense(args.classes, activation="softmax")(features))


# --- Checkpoints ------------------------------------------------------------------------------------------------------


def checkpoint_path(epoch):
    """Return the path of the checkpoint after this number of epochs."""
    return Path(args.log_dir, args.checkpoint_format.format(epoch=epoch))


def newest_checkpoint():
    """Return after how many epochs the newest checkpoint was saved, or 0 if there is none."""
    return next((epoch for epoch in range(args.epochs, 0, -1) if checkpoint_path(epoch).exists()), 0)


initial_epoch = newest_checkpoint()

# --- Training ---------------------------------------------------------------------------------------------------------


# A step averages over the images of all devices, so it may be as many times as long.
full_lr = args.base_lr * devices


def lr_schedule(epoch):
    """Return the learning rate of an epoch: it drops to a tenth after 30, 60 and 80 epochs."""
    drops = sum(epoch >= start for start in (30, 60, 80))
    return full_lr * 0.1**drops


# Variables created in this scope, those of the model and of its optimizer, have a copy on every device.
with strategy.scope():
    if initial_epoch:
        model = tf.keras.models.load_model(checkpoint_path(initial_epoch))
    else:
        model = create_model()
        # Decoupled: each step subtracts rate * decay * weight, from biases and batch normalisation as well. For
        # ImageNet, exclude these by opt.exclude_from_weight_decay(), and choose the decay for this form: the same
        # number as an L2 penalty in the loss acts many times as strongly.
        opt = tf.keras.optimizers.SGD(learning_rate=full_lr, momentum=args.momentum, weight_decay=args.wd)
        model.compile(
            loss="categorical_crossentropy",
            optimizer=opt,
            metrics=["accuracy", tf.keras.metrics.TopKCategoricalAccuracy(5, name="top_5_accuracy")],
        )

callbacks = [
    tf.keras.callbacks.LearningRateScheduler(lr_schedule),
    tf.keras.callbacks.TensorBoard(args.log_dir),
    tf.keras.callbacks.ModelCheckpoint(f"{args.log_dir}/{args.checkpoint_format}"),
]

model.fit(
    even(train_iter),
    steps_per_epoch=len(train_iter),
    initial_epoch=initial_epoch,
    epochs=args.epochs,
    callbacks=callbacks,
    validation_data=even(val_iter),
    validation_steps=len(val_iter),
)

model.save_weights(Path(args.log_dir, "weights.h5"))
