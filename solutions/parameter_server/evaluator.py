"""Evaluate the checkpoints of MobileNetV2's training.

    python evaluator.py --data-dir images --classes 10 --image-size 32 --alpha 0.35

The flags for the data, the network and the logs are the coordinator's, and have to have the same values.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import mobilenet, tf_config
from tensorflow.keras.callbacks import TensorBoard

tf.get_logger().setLevel("ERROR")  # or each of the optimizer's variables is listed that a checkpoint has for training

parser = mobilenet.flags("Evaluate the checkpoints of MobileNetV2's training.")
# Step 16: without an end, it would wait for checkpoints indefinitely.
parser.add_argument("--max-evaluations", type=int, help="number of the last checkpoint (default: as many as epochs)")
args = parser.parse_args()

# Step 16: an evaluator is in no cluster: no task waits for it, and none notices when it ends.
tf_config.check()
task_type = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_type
if task_type != "evaluator":
    raise SystemExit(f"This is the evaluator's program. TF_CONFIG says that this process is: {task_type}.")
tf.config.set_visible_devices([], "GPU")  # others train on these

# The same images each time, each of them once.
images = mobilenet.images(f"{args.data_dir}/val", args.image_size, shuffle=False).batch(args.batch_size)

model = mobilenet.network(args.image_size, args.classes, args.alpha)
# The optimizer is not used, but gets from the checkpoint how many steps were made. TensorBoard's curves are over them.
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

callbacks = [TensorBoard(f"{args.log_dir}/evaluator", write_graph=False)]

# Step 16: it evaluates the newest checkpoint as soon as there is one, and skips those that appeared in between.
tf.keras.utils.SidecarEvaluator(
    model,
    images,
    f"{args.log_dir}/checkpoints",
    max_evaluations=args.max_evaluations or args.epochs,
    callbacks=callbacks,
).start()
