"""Train on folders of images with Keras and Horovod: a small network on Fashion-MNIST here, ResNet50 by default.

    python imagenet_resnet50.py --data-url images --model small --image-size 32 --classes 10 --epochs 2
    mpirun -np 4 python imagenet_resnet50.py …                                                      # 4 on one host
    mpirun -np 8 --host a:4,b:4 --bind-to none --map-by slot -x PATH python imagenet_resnet50.py …  # on 2 hosts

With N GPUs per host, start N processes per host. --data-url and --train-url may be folders or stores (s3://…).
The data have a folder of images for each class, in train/ and in val/. Started again, it resumes from its newest
checkpoint. ResNet50 is that of He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2016.
"""

import argparse
import itertools
import math
import os
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from course import store
from horovod.tensorflow import broadcast_object
from tensorflow.keras import layers
from tensorflow.keras.applications import resnet50
from tensorflow.keras.preprocessing.image import ImageDataGenerator

hvd.init()

warnings.filterwarnings("ignore", "You are saving your model as an HDF5 file")  # the format that hvd.load_model reads

parser = argparse.ArgumentParser(
    description="Train a network on folders of images.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
)
parser.add_argument("--data-url", default="./data", help="folder or object store with the images")
parser.add_argument("--train-url", default="./results", help="folder or object store for the results")
parser.add_argument("--cache-dir", default="./cache", help="folder for this host's copy of the images")
parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints, TensorBoard logs and weights")
parser.add_argument("--checkpoint-format", default="checkpoint-{epoch}.h5", help="name of a checkpoint")
parser.add_argument("--batch-size", type=int, default=32, help="training batch size of each process")
parser.add_argument("--val-batch-size", type=int, default=32, help="validation batch size of each process")
parser.add_argument("--epochs", type=int, default=90, help="epochs to train for")
parser.add_argument("--base-lr", type=float, default=0.0125, help="learning rate of a single process")
parser.add_argument("--warmup-epochs", type=int, default=5, help="epochs until the learning rate is at its full value")
parser.add_argument("--momentum", type=float, default=0.9, help="momentum of SGD")
parser.add_argument("--wd", type=float, default=0.00005, help="weight decay, decoupled")
parser.add_argument("--image-size", type=int, default=224, help="images are resized to this height and width")
parser.add_argument("--classes", type=int, default=1000, help="number of classes")
parser.add_argument("--model", choices=["resnet50", "small"], default="resnet50", help="small: for a laptop's cores")
parser.add_argument("--seed", type=int, help="make the run repeatable")
args = parser.parse_args()

if args.seed is not None:
    tf.keras.utils.set_random_seed(args.seed + hvd.rank())

gpus = tf.config.list_physical_devices("GPU")
if gpus:
    gpu = gpus[0] if len(gpus) == 1 else gpus[hvd.local_rank()]
    tf.config.set_visible_devices(gpu, "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)

verbose = 1 if hvd.rank() == 0 else 0

# --- Data -------------------------------------------------------------------------------------------------------------

# Step 8: one rank of each host copies the data, and all ranks of the host read the copy.
data_dir = Path(args.cache_dir)
failures = 0
if hvd.local_rank() == 0:
    try:
        store.download(args.data_url, data_dir, progress=verbose)
    except store.StoreError as error:
        print(error)
        failures = 1

# Step 8: no rank continues before the copies on all hosts are complete. If one failed, all ranks end.
failures = int(hvd.allreduce(tf.constant(failures), op=hvd.Sum, name="data are here"))
if failures:
    raise SystemExit(f"Rank {hvd.rank()} ends: the data did not get to {failures} of the hosts.")

train_gen = ImageDataGenerator(
    width_shift_range=0.1,
    height_shift_range=0.1,
    zoom_range=0.1,
    horizontal_flip=True,
    preprocessing_function=resnet50.preprocess_input,
)
val_gen = ImageDataGenerator(preprocessing_function=resnet50.preprocess_input)

shape = (args.image_size, args.image_size)
train_iter = train_gen.flow_from_directory(data_dir / "train", shape, batch_size=args.batch_size)
val_iter = val_gen.flow_from_directory(data_dir / "val", shape, batch_size=args.val_batch_size)


def steps_of(images):
    """Return how many batches each rank's share of the images has."""
    return math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)


def share_of(images, epochs):
    """Yield the batches of this rank's share of the images in each of the epochs."""
    for epoch in epochs:
        # Step 9: the epoch is the seed, so all ranks draw the same order, and each epoch has a new one.
        order = np.random.default_rng(epoch).permutation(images.samples)
        # Step 9: the first images are repeated at the end, so that the order divides evenly among the ranks.
        order = np.resize(order, math.ceil(images.samples / hvd.size()) * hvd.size())
        # Step 9: a rank takes every size()-th image, from the position of its rank on.
        images.index_array = order[hvd.rank() :: hvd.size()]
        images.n = len(images.index_array)
        for batch in range(len(images)):
            yield images[batch]


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


# Step 10: a checkpoint gets its name only when the file is complete.
class SaveCheckpoint(tf.keras.callbacks.Callback):
    """Save the model and its optimizer after each epoch."""

    def on_epoch_end(self, epoch, logs=None):
        """Write the file under another name first: a kill in mid-write leaves no file that looks like a checkpoint."""
        path = checkpoint_path(epoch + 1)
        partial = path.with_suffix(".partial")
        self.model.save(partial, save_format="h5")
        partial.replace(path)


# Step 10: only rank 0 writes checkpoints, so only rank 0 looks for one. All ranks resume from its epoch.
initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)

# --- Training ---------------------------------------------------------------------------------------------------------

# Step 11: a step averages over size() times as many images, so it may be size() times as long.
full_lr = args.base_lr * hvd.size()


def lr_schedule(epoch):
    """Return the learning rate of an epoch: it drops to a tenth after 30, 60 and 80 epochs."""
    drops = sum(epoch >= start for start in (30, 60, 80))
    return full_lr * 0.1**drops


if initial_epoch:
    # Step 10: every rank loads the checkpoint. Horovod matches tensors by name, and a loaded optimizer names its
    # variables differently from a new one: ranks with both kinds would deadlock.
    checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None
    with tempfile.NamedTemporaryFile(suffix=".h5") as file:
        file.write(broadcast_object(checkpoint, root_rank=0))
        file.flush()
        model = hvd.load_model(file.name)
else:
    model = create_model()
    # Decoupled: each step subtracts rate * decay * weight, from biases and batch normalisation as well. For ImageNet,
    # exclude these by opt.exclude_from_weight_decay(), and choose the decay for this form: the same number as an L2
    # penalty in the loss acts many times as strongly.
    opt = tf.keras.optimizers.SGD(learning_rate=full_lr, momentum=args.momentum, weight_decay=args.wd)
    model.compile(
        loss="categorical_crossentropy",
        optimizer=hvd.DistributedOptimizer(opt),
        metrics=["accuracy", tf.keras.metrics.TopKCategoricalAccuracy(5, name="top_5_accuracy")],
    )

callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    tf.keras.callbacks.LearningRateScheduler(lr_schedule),
    # Step 11: the rate grows with every batch, from that of one process to the full one. The momentum is not corrected
    # for this growth: in Keras 2.15 it is a plain number, which the callback cannot set.
    hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose),
]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))
    # Step 10: one rank saves, because several would write to the same file at once.
    callbacks.append(SaveCheckpoint())

model.fit(
    share_of(train_iter, itertools.count(initial_epoch)),
    steps_per_epoch=steps_of(train_iter),
    initial_epoch=initial_epoch,
    epochs=args.epochs,
    callbacks=callbacks,
    verbose=verbose,
    # Step 9: the order never changes, so a validation covers all images wherever it begins. Keras reads batches ahead
    # and discards them when a validation ends, so the next one begins later in the order.
    validation_data=share_of(val_iter, itertools.repeat(0)),
    validation_steps=steps_of(val_iter),
)

if hvd.rank() == 0:
    model.save_weights(Path(args.log_dir, "weights.h5"))
    # Step 8: the results go to the store, because this host's disk may be wiped after the job.
    store.upload(args.log_dir, args.train_url)
