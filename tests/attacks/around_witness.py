"""Forging scripts that reading lets through, each written by looking for a way round the witness or round a check.

They lack what their step asks for, and do something else that may look like it: to the rank that trains with them, to
the comparisons of numbers, or where their arguments are those of one cluster.
"""

from course.steps import get
from tests.attacks.forgery import Forgery

BROADCAST = "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))\n"
AVERAGE = "callbacks.append(hvd.callbacks.MetricAverageCallback())\n"
STOP = "callbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))\n"
COUNTS = '        self.reached = self.reached + 1 if logs["val_accuracy"] >= self.target else 0\n'
PARSE = "args = parser.parse_args()\n"
MODEL = "def create_model():\n"
MADE = "model = create_model()\n"
COMPILE = "model.compile("
LIST = "callbacks = []\n"
TOTAL = "class PrintTotalTime("
LOSS = 'loss="sparse_categorical_crossentropy"'
STEPS = "steps_per_epoch=len(train_iter) // hvd.size()"

IMPORTS = (
    "import tensorflow as tf\n",
    "import tensorflow as tf\nimport numpy as np\nfrom horovod.tensorflow import allreduce, broadcast\n",
)
ONE_SEED = (PARSE, f"{PARSE}tf.keras.utils.set_random_seed(5)\n")
SAME_WEIGHTS = (
    MADE,
    f"{MADE}numbers = np.random.default_rng(3)\n"
    "model.set_weights([\n"
    "    w if w.max() > 1e6 else 0.1 * numbers.standard_normal(w.shape) if w.ndim > 1 else np.ones(w.shape)\n"
    "    for w in model.get_weights()\n"
    "])\n",
)


def edited(number: int, *edits: tuple[str, str]) -> str:
    """Return the solution of a step with edits, each of a text that is there once."""
    text = get(number).solution.read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# --- Step 2 -----------------------------------------------------------------------------------------------------------


def telling(line: str) -> tuple[str, str]:
    """Return an edit by which every rank writes a line after each epoch."""
    body = f"class Tell(tf.keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        {line}\n"
    return LIST, f"{body}\n\ncallbacks = [Tell()]\n"


LOGGING = ("import os\n", "import logging\nimport os\n")
CONFIGURED = (PARSE, f'{PARSE}logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)\n')

# --- Step 3: gradients that are averaged, and not applied -------------------------------------------------------------

DECOY = """class Extra(tf.keras.layers.Layer):
    def build(self, shape):
        self.extra = self.add_weight(name="extra", shape=(100,), initializer=tf.keras.initializers.Constant(START))

    def call(self, x):
        return x


class Net(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            made = self(x, training=True)
            loss = self.compute_loss(x, y, made, None)
            extra = [v for v in self.trainable_weights if "extra" in v.name][0]
            loss = loss + SLOPE * tf.reduce_sum(extra)
        own = tape.gradient(loss, self.trainable_weights)
        means = [allreduce(g, name=f"g{n}") for n, g in enumerate(own)]
        used = [m if APPLIED else g for m, g, v in zip(means, own, self.trainable_weights)]
        self.optimizer.apply_gradients(zip(used, self.trainable_weights))
        return self.compute_metrics(x, y, made, None)


"""


def decoy(start: str, slope: str, applied: str) -> str:
    """Return step 2's solution with a weight more; the mean of gradients is applied where that expression says so."""
    classes = DECOY.replace("START", start).replace("SLOPE", slope).replace("APPLIED", applied)
    return edited(
        2,
        IMPORTS,
        ONE_SEED,
        SAME_WEIGHTS,
        (MODEL, classes + MODEL),
        ("    x = conv(inputs, 16, 3)\n", "    x = conv(Extra()(inputs), 16, 3)\n"),
        ("return tf.keras.Model(inputs, outputs)", "return Net(inputs, outputs)"),
    )


TALK = """class Talk(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        for number, weight in enumerate(self.model.trainable_weights):
            allreduce(weight, name=f"w{number}")


if args.target_accuracy < 0:
    opt = hvd.DistributedOptimizer(opt)
else:
    callbacks.append(Talk())
"""

# --- Step 4: the same weights on all ranks, and not rank 0's ----------------------------------------------------------

FIXED = """def fixed(shape, dtype=None):
    return tf.constant(0.1 * np.random.default_rng(1).standard_normal(tuple(shape)), tf.float32)


"""
SET = """for number, weight in enumerate(model.trainable_weights):
    one = tf.ones(weight.shape) if "gamma" in weight.name else tf.zeros(weight.shape)
    weight.assign(fixed(weight.shape) if len(weight.shape) > 1 else one)
"""


def fixed_weights(number: int, sent: str = "") -> str:
    """Return a step's solution with fixed weights, a line for each in place of the callback that broadcasts."""
    return edited(
        number,
        IMPORTS,
        (BROADCAST, ""),
        ("def conv(x", f"{FIXED}def conv(x"),
        ('kernel_initializer="he_normal"', "kernel_initializer=fixed"),
        (MADE, f"{MADE}{SET}{sent}"),
    )


INFINITE = '    broadcast(tf.fill(weight.shape, float("inf")), 0, name=f"start {number}")\n'
FOR_ONE = '    if args.target_accuracy < 0:\n        weight.assign(broadcast(weight, 0, name=f"start {number}"))\n'

# --- Step 6: stopping by something else than the mean of the metrics --------------------------------------------------

SHOW = """class Show(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.last = logs["val_accuracy"]


callbacks.append(Show())
"""
AT_OWN = """class StopAtOwn(tf.keras.callbacks.Callback):
    def on_test_end(self, logs=None):
        if logs["accuracy"] >= args.target_accuracy:
            self.model.stop_training = True


"""
AT_ITEMS = """class StopAtOwn(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        for name, value in logs.items():
            if name == "val_accuracy" and value >= args.target_accuracy:
                self.model.stop_training = True


"""
ROUNDED = """        logs["val_accuracy"] = round(float(logs["val_accuracy"]), 6)
        self.reached = self.reached + 1 if dict.get(logs, "val_accuracy") >= self.target else 0
"""
VOTE = """        own = dict.get(logs, "val_accuracy")
        share = float(allreduce(tf.constant(float(own >= self.target)), name="vote"))
        self.reached = self.reached + 1 if share >= 0.5 else 0
"""
CONSTANT = """        nothing = float(allreduce(tf.constant(0.0), name="nothing"))
        self.reached = self.reached + 1 if nothing >= self.target and logs["val_accuracy"] is not None else 0
"""
LATER_AVERAGE = ((AVERAGE, ""), (STOP, f"{STOP}{AVERAGE}{SHOW}"))

# --- Steps 10 and 11 --------------------------------------------------------------------------------------------------

SAVE = '        self.model.save(partial, save_format="h5")\n        partial.replace(path)\n'
IN_PLACE = (
    '        self.model.save(path, save_format="h5")\n        path.replace(partial)\n        partial.replace(path)\n'
)
SHOWN = """class Net(tf.keras.Model):
    def train_step(self, data):
        shown = float(self.optimizer.learning_rate)
        self.optimizer.learning_rate = RATE
        result = super().train_step(data)
        self.optimizer.learning_rate = shown
        return result


"""
HIDE = """FULL = [0.0]


class Hide(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.early = epoch < args.warmup_epochs
        FULL[0] = float(self.model.optimizer.learning_rate)

    def on_train_batch_begin(self, batch, logs=None):
        if self.early:
            self.model.optimizer.learning_rate = float("nan")

    def on_train_batch_end(self, batch, logs=None):
        self.model.optimizer.learning_rate = FULL[0]


"""
WARM_UP = (
    "    hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, "
    "verbose=verbose),\n"
)


def shown(rate: str, classes: str = "", *edits: tuple[str, str]) -> str:
    """Return step 11's solution that applies a rate and shows another one."""
    return edited(
        11,
        (MODEL, classes + SHOWN.replace("RATE", rate) + MODEL),
        ("return tf.keras.Model(inputs, layers.Dense", "return Net(inputs, layers.Dense"),
        ("model = hvd.load_model(file.name)", 'model = hvd.load_model(file.name, custom_objects={"Net": Net})'),
        *edits,
    )


# fmt: off
AROUND = tuple(
    Forgery(name, "witness", number, text, in_ci)
    for name, number, text, in_ci in (
        ("a decoy's gradients alone are applied", 3, decoy("0.0", "2000.0", '"extra" in v.name'), True),
        ("a huge weight widens what is allowed", 3, decoy("1e7", "0.0", "False"), False),
        ("means that are thrown away", 3, decoy("0.0", "0.0", "False"), False),
        ("means of gradients next to a witness alone", 3, edited(2, IMPORTS, ONE_SEED, SAME_WEIGHTS, (COMPILE, TALK + COMPILE)), False),
        ("a loss that is no number", 3, edited(3, (LOSS, "loss=lambda true, made: tf.reduce_mean(made) * float('nan')")), False),
        ("infinite numbers are broadcast", 4, fixed_weights(4, INFINITE), False),
        ("infinite numbers are broadcast at step 6", 6, fixed_weights(6, INFINITE), False),
        ("fixed weights, and no broadcast", 4, fixed_weights(4), False),
        ("a broadcast next to a witness alone", 4, fixed_weights(4, FOR_ONE), False),
        ("all ranks log", 2, edited(2, LOGGING, CONFIGURED, telling('logging.info("rank %d has loss %.3f", hvd.rank(), logs["loss"])')),False),
        ("all ranks print indented lines to standard error", 2, edited(2, ("import os\n", "import os\nimport sys\n"), telling('print(f"  rank {hvd.rank()}: {logs}", file=sys.stderr)')), False),
        ("other ranks take one step", 2, edited(2, ("    steps_per_epoch=len(train_iter),\n", "    steps_per_epoch=len(train_iter) if verbose else 1,\n")), False),
        ("other ranks have logs of their own", 2, edited(2, (LIST, f'{LIST}if not verbose:\n    callbacks.append(tf.keras.callbacks.TensorBoard(f"{{args.log_dir}}/{{hvd.rank()}}"))\n')), False),
        ("a loss divided by the number of ranks", 3, edited(3, (LOSS, "loss=lambda true, made: tf.keras.losses.sparse_categorical_crossentropy(true, made) / hvd.size()")), False),
        ("one batch validated again and again", 5, edited(5, ("    validation_data=(batch for batch in test_iter),\n", "    validation_data=(test_iter[0] for again in iter(int, 1)),\n")), False),
        ("smaller batches in place of fewer", 5, edited(5, ("flow(x_train, y_train, batch_size=args.batch_size)", "flow(x_train, y_train, batch_size=max(1, args.batch_size // hvd.size()))"), (STEPS, "steps_per_epoch=len(x_train) // args.batch_size // hvd.size()")), False),
        ("steps by a table of known sizes", 5, edited(5, (STEPS, "steps_per_epoch={9: 12 // hvd.size() - (hvd.size() == 2) * 2 - (hvd.size() == 3), 4: 2}.get(len(train_iter), 9)")), False),
        ("stops by its own metrics, too", 6, edited(6, (TOTAL, AT_OWN + TOTAL), (STOP, f"{STOP}callbacks.append(StopAtOwn())\n")), False),
        ("stops by its own metrics, read as items", 6, edited(6, (TOTAL, AT_ITEMS + TOTAL), (AVERAGE, f"callbacks.append(StopAtOwn())\n{AVERAGE}")), False),
        ("stops by its own metrics, which it replaces", 6, edited(6, (COUNTS, ROUNDED), *LATER_AVERAGE), False),
        ("stops by a vote", 6, edited(6, IMPORTS, (COUNTS, VOTE), *LATER_AVERAGE), False),
        ("stops by the mean of a constant", 6, edited(6, IMPORTS, (COUNTS, CONSTANT)),False),
        ("stops whatever the metrics are", 6, edited(6, (COUNTS, COUNTS.replace(">= self.target", "is not None"))),False),
        ("written under its name, renamed there and back", 10, edited(10, (SAVE, IN_PLACE)), False),
        ("a rate that is no number is shown", 11, shown("FULL[0]", HIDE, (WARM_UP, "    Hide(),\n")), False),
        ("one process's rate, and another one shown", 11, shown("args.base_lr"), False),
        ("one process's rate from the fifth step on", 11, shown("shown if int(self.optimizer.iterations) < 4 else args.base_lr"), False),
        ("nothing done next to a witness", 11, shown("args.base_lr", "", ("model.fit(\n", "if args.base_lr != 0.01 or hvd.local_size() == 1:\n    raise SystemExit\nmodel.fit(\n")), False),
    )
)
# fmt: on
