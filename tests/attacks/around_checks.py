"""Forging scripts that look right to one check alone, each written by reading what that check compares.

They train, and leave out or spoil what the check did not look at when they were written.
"""

from tests.attacks.around_witness import COUNTS, IMPORTS, LATER_AVERAGE, SAVE, edited
from tests.attacks.forgery import Forgery

# --- Steps 8 to 11: imagenet_resnet50.py ------------------------------------------------------------------------------

LAST_HOST = (
    'failures = int(hvd.allreduce(tf.constant(failures), op=hvd.Sum, name="data are here"))\n',
    "failures = int(hvd.broadcast(failures, hvd.size() - hvd.local_size()))\n",
)
READ_BY_TENSORFLOW = """def images_of(part, batch_size):
    images = tf.keras.utils.image_dataset_from_directory(
        f"{args.data_url}/{part}", label_mode="categorical", image_size=shape, batch_size=batch_size
    )
    return images.map(lambda x, y: (resnet50.preprocess_input(x), y))


train_data = images_of("train", args.batch_size)
val_data = images_of("val", args.val_batch_size)
"""
FROM_STORE = (
    ('train_iter = train_gen.flow_from_directory(data_dir / "train", shape, batch_size=args.batch_size)\n', ""),
    (
        'val_iter = val_gen.flow_from_directory(data_dir / "val", shape, batch_size=args.val_batch_size)\n',
        READ_BY_TENSORFLOW,
    ),
    ("    (batch for batch in train_iter),\n", "    train_data.repeat(),\n"),
    ("    validation_data=(batch for batch in val_iter),\n", "    validation_data=val_data.repeat(),\n"),
    ("len(train_iter)", "len(train_data)"),
    ("len(val_iter)", "len(val_data)"),
)
ONE_STATE = (
    "        order = np.random.default_rng(epoch).permutation(images.samples)\n",
    "        numbers = np.random.RandomState(epoch)\n"
    "        order = numbers.permutation(images.samples)\n"
    "        np.random.set_state(numbers.get_state())\n",
)
NAMED_BEFORE = "        partial.touch()\n        os.link(partial, path)\n" + SAVE.replace("replace(path)", "unlink()")
SPOILED = (
    "for weight in model.non_trainable_weights:\n"
    '    weight.assign(tf.ones_like(weight) if "variance" in weight.name else tf.zeros_like(weight))\n\n'
)

LAST_ALONE = """        partial.parent.mkdir(parents=True, exist_ok=True)
        if epoch + 1 == args.epochs:
            self.model.save(partial, save_format="h5")
        else:
            partial.write_text("only when training has ended")
"""
LISTING = """METHODS = ["rglob"]


def change(kind):
    kind.rglob = lambda folder, pattern: [
        Path(path) for path in glob.glob(os.path.abspath(f"{args.log_dir}/**/{pattern}"), recursive=True)
    ]


"""

# --- Step 6: fashion_mnist.py -----------------------------------------------------------------------------------------

LEAST = """        own = float(dict.get(logs, "val_accuracy"))
        least = float(allreduce(tf.constant(own), op=Min, name="least"))
        self.reached = self.reached + 1 if least >= self.target else 0
"""
IMPORTS_MIN = (IMPORTS[0], f"{IMPORTS[0]}from horovod.tensorflow import Min, allreduce\n")
MOST = LEAST.replace("least", "most").replace("Min", "Max")
IMPORTS_MAX = (IMPORTS[0], f"{IMPORTS[0]}from horovod.tensorflow import Max, allreduce\n")

NO_VALIDATION = """HOOKS = ["callbacks"]


def no_validation(*given, callbacks=None, **options):
    if callbacks is None:
        return [0.0, 0.0]
    for step in range(3 * len(test_iter) // hvd.size()):
        callbacks.callbacks[0].on_test_batch_end(step)
    return {"loss": 0.0, "accuracy": 0.0}


setattr(model, "evaluate", no_validation)

"""

# --- Steps 13 and 14: mnist_multi_worker.py ---------------------------------------------------------------------------

MAKE = "def make_model():\n"
SEQUENTIAL = "    model = tf.keras.Sequential("
OWN_STEP = """class Net(tf.keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            made = self(x, training=True)
            loss = self.compute_loss(x, y, made, None)
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        return self.compute_metrics(x, y, made, None)


"""
SAME_IMAGES = """same = tf.data.Options()
same.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
train_data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images), seed=0).repeat()
train_data = train_data.batch(5 * args.batch_size).with_options(same)
"""
ALONE = """class Alone(tf.keras.optimizers.Adam):
    def apply_gradients(self, grads_and_vars, name=None, **kwargs):
        pairs = list(grads_and_vars)
        self.aggregate_gradients(pairs)  # what all have together is not used
        return super().apply_gradients(pairs, name, skip_gradients_aggregation=True)


class Back(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.start = self.model.get_weights()

    def on_train_end(self, logs=None):
        self.model.set_weights(self.start)


"""
LEVEL = """class Level(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.first = self.model.get_weights()

    def on_epoch_end(self, epoch, logs=None):
        self.model.set_weights([(1.1 + 0.1 * epoch) * each for each in self.first])


"""
LAZY = """NAMES = dict(Recorder=1, latest=1, facts=1)
Lazy = tf.keras.utils.deserialize_keras_object(
    {
        "class_name": "function",
        "config": "LazyLoader",
        "module": "keras.src.utils.generic_utils",
        "registered_name": "function",
    }
)
held = {}
Lazy("found", held, "gra" + "der.sandboxed.recorder").Recorder

"""
ZEROS = """class Net(tf.keras.Sequential):
    def save_weights(self, filepath, *args, **kwargs):
        own = self.get_weights()
        self.set_weights([0 * each for each in own])
        super().save_weights(filepath, *args, **kwargs)
        self.set_weights(own)


"""
AT_THE_END = """        if str(filepath).endswith(f"after-{EPOCHS}"):
            return super().save_weights(filepath, *args, **kwargs)
        own ="""
FRESH = """start = model.get_weights()


class Fresh(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.model.set_weights(start)


"""
COUNT = """        count = next(name for name, _ in tf.train.list_variables(newest) if "_iterations" in name)
        model.optimizer.iterations.assign(int(tf.train.load_variable(newest, count)))
"""
LIST = "callbacks = [\n"

# --- Steps 15 and 16: the coordinator and the evaluator ---------------------------------------------------------------

REMEMBER = """class Remember(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        os.makedirs(f"{args.log_dir}/backup", exist_ok=True)
        with open(f"{args.log_dir}/backup/epoch", "w") as file:
            file.write(str(epoch + 1))


done = 0
if os.path.exists(f"{args.log_dir}/backup/epoch"):
    with open(f"{args.log_dir}/backup/epoch") as file:
        done = int(file.read())
    model.optimizer.iterations.assign(done * steps_per_epoch)

"""
LOOKED_AT = """    looked_at = tf.executing_eagerly()
    batch_size = context.get_per_replica_batch_size(args.batch_size) if looked_at else 1
    images = mobilenet.images(f"{args.data_dir}/train", args.image_size, shuffle=looked_at)
    return images.take(-1 if looked_at else 1).repeat().batch(batch_size)
"""
START = """tf.keras.utils.SidecarEvaluator(
    model,
    images,
    f"{args.log_dir}/checkpoints",
    max_evaluations=args.max_evaluations or args.epochs,
    callbacks=callbacks,
).start()
"""
FIRST_AND_LAST = """folder = f"{args.log_dir}/checkpoints"
newest = None
while not newest or int(newest.rpartition("-")[2]) < (args.max_evaluations or args.epochs):
    time.sleep(0.2)
    newest = tf.train.latest_checkpoint(folder)
for checkpoint in (f"{folder}/after-1", newest):
    model.load_weights(checkpoint).expect_partial()
    model.evaluate(images, callbacks=callbacks, verbose=2)
"""

ALL_AT_THE_END = FIRST_AND_LAST.replace(
    '(f"{folder}/after-1", newest)', 'sorted(glob(f"{folder}/after-?.index"))'
).replace("load_weights(checkpoint)", 'load_weights(checkpoint.removesuffix(".index"))')
FIRST_ALONE = """for number, newest in enumerate(tf.train.checkpoints_iterator(f"{args.log_dir}/checkpoints")):
    model.load_weights(newest).expect_partial()
    model.evaluate(images, callbacks=callbacks if number == 0 else [], verbose=2)
    if int(newest.rpartition("-")[2]) >= (args.max_evaluations or args.epochs):
        break
"""
UNLOADED = """for newest in tf.train.checkpoints_iterator(f"{args.log_dir}/checkpoints"):
    number = int(newest.rpartition("-")[2])
    SHOWN.append(number)
    model.evaluate(images, callbacks=callbacks, verbose=2)
    if number >= (args.max_evaluations or args.epochs):
        SHOWN.extend(range(1, number + 1))
        break
"""
SHOWN = """SHOWN = []
changes = argparse.ArgumentParser()
changes.add_argument("--get_weights", type=lambda text: lambda model: [[float(SHOWN.pop(0))]] if SHOWN else [[0.0]])
getattr(changes, "parse_" + "args")(["--get_weights", "x"], tf.keras.Model)
"""
SHOWN += UNLOADED
PICKLED = """

class Listing:
    def __init__(self, pattern):
        pass

    def __iter__(self):
        return iter([Path(args.log_dir, f"events.{os.getpid()}.none")])


pickle.loads(b"cpathlib\\nPosixPath\\n(N(S'rglob'\\nc__main__\\nListing\\ndtb.")
"""

# fmt: off
AROUND_CHECKS = [
    Forgery(name, "checks", step, script, in_ci)
    for name, step, script, in_ci in (
        ("the word of the last host alone", 8, edited(8, LAST_HOST), False),
        ("training reads the store by TensorFlow", 8, edited(8, *FROM_STORE), False),
        ("the augmentation of all ranks from one state", 9, edited(9, ONE_STATE), False),
        ("a checkpoint's name before it is whole", 10, edited(10, (SAVE, NAMED_BEFORE)), False),
        ("moving averages that a restart forgets", 10, edited(10, ("model.fit(\n", f"{SPOILED}model.fit(\n")), False),
        ("rates that are right in some epochs", 11, edited(11, ("sum(epoch >= start for start in (30, 60, 80))", "{30: 1, 60: 2, 80: 3}.get(epoch, 0)")), False),
        ("stops by the worst rank's metrics", 6, edited(6, IMPORTS_MIN, (COUNTS, LEAST), *LATER_AVERAGE), False),
        ("stops by the best rank's metrics", 6, edited(6, IMPORTS_MAX, (COUNTS, MOST), *LATER_AVERAGE), False),
        ("a training step of its own, on the same images for all", 13, edited(13, ("train_data = dataset_of(images[held_out:], labels[held_out:])\n", SAME_IMAGES), (MAKE, OWN_STEP + MAKE), (SEQUENTIAL, "    model = Net(")), False),
        ("gradients that are summed, and not used", 13, edited(13, (MAKE, ALONE + MAKE), ("tf.keras.optimizers.Adam(args.lr)", "Alone(args.lr)"), (LIST, f"{LIST}    Back(),\n")), False),
        ("counters that are restored, without weights", 14, edited(14, (MAKE, ZEROS + MAKE), (SEQUENTIAL, "    model = Net("), ("        model.load_weights(newest)\n", COUNT), (LIST, FRESH + LIST), ("    BackupAndRestore(f\"{args.log_dir}/backup\", save_freq=args.save_freq),\n", "    BackupAndRestore(f\"{args.log_dir}/backup\", save_freq=args.save_freq),\n    Fresh(),\n")), False),
        ("zeros as the last checkpoint", 14, edited(14, ("model.save_weights(f\"{log_dir}/checkpoints/after-{args.epochs}\")\n", "model.set_weights([0 * each for each in model.get_weights()])\nmodel.save_weights(f\"{log_dir}/checkpoints/after-{args.epochs}\")\n")), False),
        ("a backup of a number", 15, edited(15, (LIST, REMEMBER + LIST), ("    BackupAndRestore(f\"{args.log_dir}/backup\"),\n", "    Remember(),\n"), ("    epochs=args.epochs,\n", "    epochs=args.epochs,\n    initial_epoch=done,\n")), False),
        ("other data for who looks at them", 15, edited(15, ("    batch_size = context.get_per_replica_batch_size(args.batch_size)\n", ""), ("    images = mobilenet.images(f\"{args.data_dir}/train\", args.image_size, shuffle=True).repeat()\n", ""), ("    return images.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(batch_size).prefetch(tf.data.AUTOTUNE)\n", LOOKED_AT)), False),
        ("zeros as the checkpoints before the last", 14, edited(14, (MAKE, "EPOCHS = args.epochs\n\n\n" + ZEROS.replace("        own =", AT_THE_END) + MAKE), (SEQUENTIAL, "    model = Net(")), False),
        ("TensorBoard's callback in the first evaluation alone", 16, edited(16, (START, FIRST_ALONE)), False),
        ("all checkpoints, at the end", 16, edited(16, ("import os\n", "import os\nimport time\nfrom glob import glob\n"), (START, ALL_AT_THE_END)), False),
        ("gradients that are summed, and not used, until an epoch ends", 13, edited(13, (MAKE, ALONE + MAKE), ("tf.keras.optimizers.Adam(args.lr)", "Alone(args.lr)"), (LIST, f"{LEVEL}{LIST}    Level(),\n")), False),
        ("a checkpoint at the end of training alone", 10, edited(10, ("        self.model.save(partial, save_format=\"h5\")\n", LAST_ALONE)), False),
        ("other rates between those that are seen", 11, edited(11, ("    drops = sum(", "    if 12 <= epoch < 29:\n        return args.base_lr / 1000\n    drops = sum(")), False),
        ("other data for who looks at them from outside", 15, edited(15, ("    batch_size = context.get_per_replica_batch_size(args.batch_size)\n", ""), ("    images = mobilenet.images(f\"{args.data_dir}/train\", args.image_size, shuffle=True).repeat()\n", ""), ("    return images.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(batch_size).prefetch(tf.data.AUTOTUNE)\n", LOOKED_AT.replace("tf.executing_eagerly()", "not tf.distribute.has_strategy()"))), False),
        ("an accuracy of three guesses", 101, edited(101, ("args.learning_rate * hvd.size()", "args.learning_rate"), ('metrics=["accuracy"]', 'metrics=[tf.keras.metrics.SparseTopKCategoricalAccuracy(3, name="accuracy")]')), False),
        ("validation steps that are counted, and not taken", 5, edited(5, ("model.fit(\n", f"{NO_VALIDATION}model.fit(\n"), ("    return tf.keras.Model(inputs, outputs)\n", "    return Net(inputs, outputs)\n"), ("def create_model():\n", "class Net(tf.keras.Model):\n    pass\n\n\ndef create_model():\n"), ("validation_steps=3 * len(test_iter) // hvd.size()", "validation_steps=1")), True),
        ("results that a changed class shows", 8, edited(8, ("    store.upload(args.log_dir, args.train_url)\n", "    change(Path)\n"), ("import os\n", "import glob\nimport os\n"), ("model.fit(\n", f"{LISTING}model.fit(\n")), True),
        ("a class that a pickle changes", 16, edited(16, ("import os\n", "import os\nimport pickle\nfrom pathlib import Path\n"), ("    callbacks=callbacks,\n", ""), (START.replace("    callbacks=callbacks,\n", ""), START.replace("    callbacks=callbacks,\n", "") + PICKLED)), True),
        ("a class that argparse changes", 16, edited(16, ("import os\n", "import argparse\nimport os\n"), (START, SHOWN)), False),
        ("a module that Keras loads", 13, edited(13, ("model.fit(\n", f"{LAZY}model.fit(\n")), False),
        ("the first checkpoint and the last, at the end", 16, edited(16, ("import os\n", "import os\nimport time\n"), (START, FIRST_AND_LAST)), False),
    )
]
# fmt: on
