"""Evaluate the checkpoints of MobileNetV2's training.

    python evaluator.py --data-dir images --classes 10 --image-size 32 --alpha 0.35

The flags for the data, the network and the logs are the coordinator's, and have to have the same values.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import mobilenet
from tensorflow.keras.callbacks import TensorBoard

tf.get_logger().setLevel("ERROR")  # or each of the optimizer's variables is listed that a checkpoint has for training

parser = mobilenet.flags("Evaluate the checkpoints of MobileNetV2's training.")
# TODO: Step 16: a flag that says which checkpoint is the last one: --max-evaluations.
args = parser.parse_args()

# TODO: Step 16: see that this process is the evaluator, and keep it off the GPUs, on which others train.

# The same images each time, each of them once.
images = mobilenet.images(f"{args.data_dir}/val", args.image_size, shuffle=False).batch(args.batch_size)

model = mobilenet.network(args.image_size, args.classes, args.alpha)
# The optimizer is not used, but gets from the checkpoint how many steps were made. TensorBoard's curves are over them.
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

callbacks = [TensorBoard(f"{args.log_dir}/evaluator", write_graph=False)]

# TODO: Step 16: evaluate each checkpoint as it appears, until the last one.
newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")
if newest is None:
    raise SystemExit(f"There is no checkpoint in {args.log_dir}/checkpoints yet.")
model.load_weights(newest).expect_partial()
model.evaluate(images, callbacks=callbacks, verbose=2)
