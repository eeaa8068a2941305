"""Train ResNet50 on folders of images with Keras and Horovod: one process per GPU, on one host or many.

    mpirun -np 8 python imagenet_resnet50.py --data-url s3://data/imagenet --train-url s3://results/run-1
    mpirun -np 2 python imagenet_resnet50.py --data-url images --model small --image-size 32 --classes 10 --epochs 2

The data have a folder of images for each class, in train/ and in val/. Started again, it resumes from its newest
checkpoint. The network is that of He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2016.
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
    description="Train ResNet50 on folders of images.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
)
parser.add_argument("--data-url", default="./data", help="folder or object store with the images")
parser.add_argument("--train-url", default="./results", help="folder or object store for all that training leaves")
parser.add_argument("--cache-dir", default="./cache", help="folder for this host's copy of the images")
parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints, TensorBoard logs and weights")
parser.add_argument("--checkpoint-format", default="checkpoint-{epoch}.h5", help="name of a checkpoint")
parser.add_argument("--batch-size", type=int, default=32, help="training batch size of each process")
parser.add_argument("--val-batch-size", type=int, default=32, help="validation batch size of each process")
parser.add_argument("--epochs", type=int, default=90, help="epochs to train for")
parser.add_argument("--base-lr", type=float, default=0.0125, help="learning rate of a single process")
parser.add_argument("--warmup-epochs", type=int, default=5, help="epochs until the learning rate has its full height")
parser.add_argument("--momentum", type=float, default=0.9, help="momentum of SGD")
parser.add_argument("--wd", type=float, default=0.00005, help="weight decay")
parser.add_argument("--image-size", type=int, default=224, help="height and width that images are brought to")
parser.add_argument("--classes", type=int, default=1000, help="how many classes there are")
parser.add_argument("--model", choices=["resnet50", "small"], default="resnet50", help="small: for a laptop's cores")
parser.add_argument("--seed", type=int, help="make the run repeatable (a number of its own for every process)")
args = parser.parse_args()

if args.seed is not None:
    tf.keras.utils.set_random_seed(args.seed)

gpus = tf.config.list_physical_devices("GPU")
if gpus:
    gpu = gpus[hvd.local_rank()]
    tf.config.set_visible_devices(gpu, "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)

verbose = 1 if hvd.rank() == 0 else 0

# --- Data -------------------------------------------------------------------------------------------------------------

# Step 8: one rank of each host copies the data there, for all ranks of the host to read.
data_dir = Path(args.cache_dir)
failures = 0
if hvd.local_rank() == 0:
    try:
        store.download(args.data_url, data_dir, progress=verbose)
    except store.StoreError as error:
        print(error)
        failures = 1

# Step 8: no rank continues before all hosts have their data. If one has not, all ranks end.
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
    """Return how many batches every rank's share of the images has."""
    return math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)


def share_of(images, epochs):
    """Yield the batches of this rank's share of the images in each of the epochs."""
    for epoch in epochs:
        # Step 9: the same order on every rank, since the seed is the same, and another one in each epoch.
        order = np.random.default_rng(epoch).permutation(images.samples)
        # Step 9: as many images for every rank: where they do not come out even, the first ones are taken again.
        order = np.resize(order, math.ceil(images.samples / hvd.size()) * hvd.size())
        # Step 9: the rank takes every size-th one, beginning with its own number.
        images.index_array = order[hvd.rank() :: hvd.size()]
        images.n = len(images.index_array)
        for batch in range(len(images)):
            yield images[batch]


# --- Model ------------------------------------------------------------------------------------------------------------


def residual_block(x, filters, strides):
    """Add two 3x3 convolutions to their own input, which a 1x1 convolution fits in shape."""
    shortcut = layers.Conv2D(filters, 1, strides)(x)
    y = layers.Conv2D(filters, 3, strides, padding="same", use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
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
    """Return where the checkpoint after so many epochs is."""
    return Path(args.log_dir, args.checkpoint_format.format(epoch=epoch))


def newest_checkpoint():
    """Return how many epochs the newest checkpoint has behind it, or 0 where there is none."""
    return next((epoch for epoch in range(args.epochs, 0, -1) if checkpoint_path(epoch).exists()), 0)


# Step 10: a checkpoint has its name only once it is whole.
class SaveCheckpoint(tf.keras.callbacks.Callback):
    """Save the model and its optimizer after each epoch."""

    def on_epoch_end(self, epoch, logs=None):
        """Write the file under another name first: a kill in mid-write leaves no file that looks like a checkpoint."""
        path = checkpoint_path(epoch + 1)
        partial = path.with_suffix(".partial")
        self.model.save(partial, save_format="h5")
        partial.replace(path)


# Step 10: rank 0 alone looks for a checkpoint, since it alone writes them and other hosts have none. All resume from
# the same epoch.
initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)

# --- Training ---------------------------------------------------------------------------------------------------------

# Step 11: a step of all ranks together is made on as many times more images, and may be as many times longer.
full_lr = args.base_lr * hvd.size()


def lr_schedule(epoch):
    """Return the learning rate of an epoch: a tenth of what it was, from epochs 30, 60 and 80 on."""
    drops = sum(epoch >= start for start in (30, 60, 80))
    return full_lr * 0.1**drops


if initial_epoch:
    # Step 10: every rank loads the checkpoint. The optimizer of a loaded model names its variables in its own way, and
    # ranks whose names differ deadlock.
    checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None
    with tempfile.NamedTemporaryFile(suffix=".h5") as file:
        file.write(broadcast_object(checkpoint, root_rank=0))
        file.flush()
        model = hvd.load_model(file.name)
else:
    model = create_model()
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
    # Step 11: begin with the rate of a single process, and reach the full one after some epochs, batch by batch.
    hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose),
]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))
    # Step 10: one rank writes: several would write into the same file.
    callbacks.append(SaveCheckpoint())

model.fit(
    share_of(train_iter, itertools.count(initial_epoch)),
    steps_per_epoch=steps_of(train_iter),
    initial_epoch=initial_epoch,
    epochs=args.epochs,
    callbacks=callbacks,
    verbose=verbose,
    # Step 9: one order for all validations. Each throws away what Keras has read ahead, and the next begins anywhere.
    validation_data=share_of(val_iter, itertools.repeat(0)),
    validation_steps=steps_of(val_iter),
)

if hvd.rank() == 0:
    model.save_weights(Path(args.log_dir, "weights.h5"))
    # Step 8: whatever training has left is copied to where it stays.
    store.upload(args.log_dir, args.train_url)
