"""Passages of the first part's solutions that rows replace, and edits that correct and wrong rows share."""

import textwrap

from course.steps import SOLUTIONS
from tests.corpus.variant import passage, section

START = "fashion_mnist.py"
AFTER_6 = "fashion_mnist_after_step_06.py"

IMPORT = "import horovod.tensorflow.keras as hvd\n"
IMPORT_BOTH = "import horovod.tensorflow as hvd_tf\n" + IMPORT
INIT = "hvd.init()\n"
ARGS = "args = parser.parse_args()\n"
LIST = 'gpus = tf.config.list_physical_devices("GPU")\n'
# A message of a script's own, for a host with fewer GPUs than ranks; and the same, where it stands by itself.
GUARD = (
    "    if hvd.local_size() > len(gpus):\n"
    '        raise SystemExit(f"{hvd.local_size()} ranks on a host with {len(gpus)} GPUs")\n'
)
REFUSAL = GUARD.replace("    if ", "if gpus and ").replace("        raise", "    raise")
GROWTH = passage(AFTER_6, "set_memory_growth(gpu, True)")
VISIBLE = '    tf.config.set_visible_devices(gpu, "GPU")\n'
BY_LOCAL_RANK = "gpus[hvd.local_rank()]"
CHOICE = f"gpus[0] if len(gpus) == 1 else {BY_LOCAL_RANK}"
PICK = f"    gpu = {CHOICE}\n"
PIN = f"if gpus:\n{PICK}{VISIBLE}{GROWTH}"
GROW_EACH = "for gpu in gpus:\n    tf.config.experimental.set_memory_growth(gpu, True)\n"
VERBOSE = "verbose = 1 if hvd.rank() == 0 else 0\n"
STARTERS_VERBOSE = "verbose = 1\n"
REPORTERS = (
    "if verbose:\n"
    "    callbacks.append(PrintThroughput(len(x_train)))\n"
    "    callbacks.append(PrintTotalTime())\n"
    "    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"
)
RESULTS = 'if verbose:\n    print(f"Test loss: {score[0]:.4f}")\n    print(f"Test accuracy: {score[1]:.4f}")\n'
LIST_OF_CALLBACKS = "callbacks = []\n"
BROADCAST_CALLBACK = "hvd.callbacks.BroadcastGlobalVariablesCallback(0)"
BROADCAST = f"callbacks.append({BROADCAST_CALLBACK})\n"
AVERAGE_CALLBACK = "hvd.callbacks.MetricAverageCallback()"
AVERAGE = f"callbacks.append({AVERAGE_CALLBACK})\n"
SCHEDULE = "callbacks.append(tf.keras.callbacks.LearningRateScheduler(lr_schedule))\n"
STOP = "callbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))\n"
MODEL = "model = create_model()\n"
RETURN_MODEL = "    return tf.keras.Model(inputs, outputs)\n"
MAKE_SGD = "tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=0.9)"
SGD = f"opt = {MAKE_SGD}\n"
WRAP = "opt = hvd.DistributedOptimizer(opt)\n"
COMPILE = 'model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])\n'
FIT = "model.fit(\n"
KEEP_HISTORY = FIT, f"history = {FIT}"
GIVEN = "    callbacks=callbacks,\n"
TRAIN = "steps_per_epoch=len(train_iter) // hvd.size(),"
VALIDATE = "validation_steps=3 * len(test_iter) // hvd.size(),"
FLOW = "train_iter = train_gen.flow(x_train, y_train, batch_size=args.batch_size)\n"
TENSORBOARD = "    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))\n"
TEST_ONCE = "test_once = "
THE_REST = (SOLUTIONS / AFTER_6).read_text().partition(MODEL)[2]
# Longer passages, for rows that write them anew.
PARSER = passage(AFTER_6, "parser = argparse.ArgumentParser(", ARGS.strip())
SEED = passage(AFTER_6, "if args.seed is not None:", "set_random_seed(")
DATA, NETWORK, TRAINING = (section(AFTER_6, title) for title in ("Data", "Model", "Training"))
CALLBACK_LIST = passage(AFTER_6, LIST_OF_CALLBACKS.strip(), TENSORBOARD.strip())
FITTING = passage(AFTER_6, FIT.strip(), VALIDATE) + ")\n"
TEST = passage(AFTER_6, TEST_ONCE, "score[1]")


def own_callback(name: str, method: str, *body: str) -> str:
    """Return the text of a callback class with one method, followed by an empty list of callbacks."""
    lines = textwrap.indent("\n".join(body), " " * 8)
    return f"class {name}(tf.keras.callbacks.Callback):\n    def {method}:\n{lines}\n\n\n{LIST_OF_CALLBACKS}"


def callback_class(name: str, *lines: str) -> tuple[str, str]:
    """Return an edit that defines a callback class with these methods in front of the list of callbacks."""
    body = "".join(f"    {line}\n" if line else "\n" for line in lines)
    return LIST_OF_CALLBACKS, f"class {name}(tf.keras.callbacks.Callback):\n{body}\n\n{LIST_OF_CALLBACKS}"


def own_model(*body: str) -> tuple[tuple[str, str], ...]:
    """Return edits for a model with its own training step, which computes its gradients in these lines."""
    lines = textwrap.indent("\n".join(body), " " * 8)
    step = (
        "class HandTrained(tf.keras.Model):\n"
        "    def train_step(self, batch):\n"
        "        images, labels = batch\n"
        "        with tf.GradientTape() as tape:\n"
        "            predictions = self(images, training=True)\n"
        "            loss = self.compute_loss(images, labels, predictions)\n"
        f"{lines}\n"
        "        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))\n"
        "        return self.compute_metrics(images, labels, predictions, None)\n\n\n"
    )
    return (
        (IMPORT, IMPORT_BOTH),
        (WRAP, ""),
        ("def create_model(", f"{step}def create_model("),
        (RETURN_MODEL, "    return HandTrained(inputs, outputs)\n"),
    )
