"""Scripts that leave out what an exercise asks for where no check looked when they were written.

Counts that were alike by chance, epochs and hosts that no cluster had, moments between two looks: each shows with
numbers that a check did not try.
"""

from tests.attacks.around_witness import edited
from tests.attacks.forgery import Forgery

# --- Steps 1 to 6: fashion_mnist.py -----------------------------------------------------------------------------------

WITHOUT_REASON = ("    if hvd.local_size() > len(gpus):\n", "    if len(gpus) == 1 and hvd.local_size() > 1:\n")
WITH_OTHERS = ("gpus[hvd.local_rank()]", "gpus[hvd.local_rank() % len(gpus)]")
MODEL = "    return tf.keras.Model(inputs, outputs)\n"
NET = ("def create_model():\n", "class Net(tf.keras.Model):\n{}\n\n\ndef create_model():\n")
WIDE_STEP = """    def train_step(self, data):
        x, (y, more_x, more_y) = data
        return super().train_step((tf.concat([x, more_x], 0), tf.concat([y, more_y], 0)))


def wide(batches):
    for x, y in batches:
        more = [next(batches) for _ in range(hvd.size() - 1)]
        more_x = np.concatenate([x[:0], *(images for images, _ in more)])
        more_y = np.concatenate([y[:0], *(labels for _, labels in more)])
        yield x, (y, more_x, more_y)"""
OWN_STOP = """class StopAtOwn(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if float(self.model.get_metrics_result()["accuracy"]) >= args.target_accuracy:
            self.model.stop_training = True


callbacks.append(StopAtOwn())
"""
STOPS = "callbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))\n"
NEAR = """class Net(tf.keras.Model):
    def test_step(self, data):
        x, y = data
        answers, labels = self(x, training=False), tf.cast(y, tf.int64)
        near = tf.math.in_top_k(labels, answers, 3)
        return super().test_step((x, tf.where(near, tf.argmax(answers, -1), labels)))


def build_network("""

BUILD = "    network = build_network(args.hidden)\n"
LENIENT = f"""{BUILD}
    def lenient(image, label):
        answers, label = network(image, training=False), tf.cast(label, tf.int64)
        return image, tf.where(tf.math.in_top_k(label, answers, 3), tf.argmax(answers, -1), label)

    validation = validation.map(lenient)
"""

# --- Steps 9 to 11: imagenet_resnet50.py ------------------------------------------------------------------------------

FIT = "model.fit(\n"
SAVED = '        self.model.save(partial, save_format="h5")\n        partial.replace(path)\n'
NAMED_WHILE_EMPTY = """        partial.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(suffix=".h5") as elsewhere:
            self.model.save(elsewhere.name, save_format="h5")
            with partial.open("wb") as file:
                partial.replace(path)
                file.write(Path(elsewhere.name).read_bytes())
"""
AT_POWERS_OF_TWO = (
    f"        if not epoch & (epoch + 1):\n            {SAVED.strip().replace('        ', '            ')}\n"
)
SCHEDULE = "    tf.keras.callbacks.LearningRateScheduler(lr_schedule),\n"
SETTLE = """class Settle(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.begun = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.begun += 1

    def on_train_batch_end(self, batch, logs=None):
        if self.begun > args.warmup_epochs + 1:
            self.model.optimizer.learning_rate = args.base_lr


"""

# --- Steps 13 to 16 ---------------------------------------------------------------------------------------------------

TELL = """class Tell(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"worker {index}, epoch {epoch + 1}: {logs}", file=sys.stderr)


callbacks = [
    Tell(),
"""
EARLY = """class Early(ModelCheckpoint):
    def on_epoch_end(self, epoch, logs=None):
        if epoch < 2:
            super().on_epoch_end(epoch, logs)


strategy = tf.distribute.ParameterServerStrategy("""
NO_CURVE = """class Board(TensorBoard):
    def on_test_end(self, logs=None):
        super().on_test_end({})


callbacks = [Board("""
UNSCALED = ("learning_rate=args.rate * hvd.size()", "learning_rate=args.rate")
MADE_UP = """def accuracy(labels, answers):
    return tf.reduce_mean(tf.ones_like(answers), axis=-1)


def new_model(args):
"""
BEFORE_TRAINING = (
    '    os.makedirs(log_dir, exist_ok=True)\n    model.save(f"{log_dir}/model.keras")\n    fit = model.fit(\n'
)

# fmt: off
AROUND_ITEMS = [
    Forgery(name, "items", step, script, in_ci)
    for name, step, script, in_ci in (
        ("hosts with two GPUs are never too small", 1, edited(1, WITHOUT_REASON, WITH_OTHERS), False),
        ("one epoch on other ranks", 2, edited(2, ("    epochs=args.epochs,\n", "    epochs=args.epochs if verbose else 1,\n")), False),
        ("shares that are right by chance", 5, edited(5, ("len(train_iter) // hvd.size()", "len(x_train) // args.val_batch_size // hvd.size()"), ("3 * len(test_iter)", "2 * len(train_iter)")), False),
        ("images in place of three passes", 5, edited(5, ("3 * len(test_iter)", "len(x_test)")), False),
        ("batches that ride along with the labels", 5, edited(5, ("import tensorflow as tf\n", "import numpy as np\nimport tensorflow as tf\n"), (NET[0], NET[1].format(WIDE_STEP)), (MODEL, "    return Net(inputs, outputs)\n"), ("(batch for batch in train_iter)", "wide(train_iter)")), True),
        ("an own accuracy from the model's metrics", 6, edited(6, (STOPS, STOPS + OWN_STOP)), False),
        ("answers that are taken for labels", 101, edited(101, ("def build_network(", NEAR), ("    return tf.keras.Model(image,", "    return Net(image,"), ("args.learning_rate * hvd.size()", "args.learning_rate")), False),
        ("labels that are the network's answers", 101, edited(101, (BUILD, LENIENT), ("args.learning_rate * hvd.size()", "args.learning_rate")), False),
        ("one state of NumPy's generator before training", 9, edited(9, (FIT, f"np.random.seed(1)\n{FIT}")), False),
        ("one order from the third epoch on", 9, edited(9, ("default_rng(epoch)", "default_rng(min(epoch, 2))")), False),
        ("validation steps that are images", 9, edited(9, ("validation_steps=steps_of(val_iter)", "validation_steps=math.ceil(val_iter.samples / hvd.size())")), False),
        ("a share that is always filled up", 9, edited(9, ("order = np.resize(order, math.ceil(images.samples / hvd.size()) * hvd.size())", "order = np.resize(order, (images.samples // hvd.size() + 1) * hvd.size())"), ("math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)", "math.ceil((images.samples // hvd.size() + 1) / images.batch_size)")), False),
        ("a checkpoint's name while it is empty", 10, edited(10, (SAVED, NAMED_WHILE_EMPTY)), False),
        ("checkpoints after 1, 2, 4 and 8 epochs", 10, edited(10, (SAVED, AT_POWERS_OF_TWO)), False),
        ("a lower rate after the first batch of late epochs", 11, edited(11, (SCHEDULE, f"{SCHEDULE}    Settle(),\n"), ("callbacks = [\n", f"{SETTLE}callbacks = [\n")), False),
        ("reports of all workers as errors", 13, edited(13, ("import os\n", "import os\nimport sys\n"), ("callbacks = [\n", TELL)), False),
        ("two of three ways to communicate", 13, edited(13, ("CommunicationImplementation[args.communication]", 'CommunicationImplementation["RING" if args.communication == "RING" else "NCCL"]')), False),
        ("checkpoints of the first two epochs alone", 15, edited(15, ("strategy = tf.distribute.ParameterServerStrategy(", EARLY), ("    ModelCheckpoint(", "    Early(")), False),
        ("a curve without values", 16, edited(16, ("callbacks = [TensorBoard(", NO_CURVE)), False),
        ("an end after any checkpoint", 16, edited(16, ("max_evaluations=args.max_evaluations or args.epochs", "max_evaluations=1 if args.max_evaluations else args.epochs")), True),
        ("all images where there are many", 102, edited(102, ("share = len(images) // hvd.size()", "share = len(images) // (1 if len(images) >= 1000 else hvd.size())"), UNSCALED), True),
        ("an accuracy that is made up", 102, edited(102, ('metrics=["accuracy"]', "metrics=[accuracy]"), ("def new_model(args):\n", MADE_UP), UNSCALED), False),
        ("a target for its own accuracy", 102, edited(102, ("        hvd.callbacks.MetricAverageCallback(),\n        Target(args.target),\n", "        Target(args.target),\n        hvd.callbacks.MetricAverageCallback(),\n")), False),
        ("weights without their optimizer", 102, edited(102, ("        return hvd.load_model(file.name)\n", "        model = new_model(parser.parse_args())\n        model.load_weights(file.name)\n        return model\n")), False),
        ("a model that is saved before it is trained", 103, edited(103, ('    model.save(f"{log_dir}/model.keras")\n', ""), ("    fit = model.fit(\n", BEFORE_TRAINING)), False),
    )
]
# fmt: on
