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

# --- Step 6: fashion_mnist.py -----------------------------------------------------------------------------------------

LEAST = """        own = float(dict.get(logs, "val_accuracy"))
        least = float(allreduce(tf.constant(own), op=Min, name="least"))
        self.reached = self.reached + 1 if least >= self.target else 0
"""
IMPORTS_MIN = (IMPORTS[0], f"{IMPORTS[0]}from horovod.tensorflow import Min, allreduce\n")
MOST = LEAST.replace("least", "most").replace("Min", "Max")
IMPORTS_MAX = (IMPORTS[0], f"{IMPORTS[0]}from horovod.tensorflow import Max, allreduce\n")

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
ZEROS = """class Net(tf.keras.Sequential):
    def save_weights(self, filepath, *args, **kwargs):
        own = self.get_weights()
        self.set_weights([0 * each for each in own])
        super().save_weights(filepath, *args, **kwargs)
        self.set_weights(own)


"""
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

# fmt: off
AROUND_CHECKS = [
    Forgery(name, "checks", step, script, in_ci)
    for name, step, script, in_ci in (
        ("the word of the last host alone", 8, edited(8, LAST_HOST), False),
        ("training reads the store by TensorFlow", 8, edited(8, *FROM_STORE), True),
        ("the augmentation of all ranks from one state", 9, edited(9, ONE_STATE), False),
        ("a checkpoint's name before it is whole", 10, edited(10, (SAVE, NAMED_BEFORE)), False),
        ("moving averages that a restart forgets", 10, edited(10, ("model.fit(\n", f"{SPOILED}model.fit(\n")), False),
        ("rates that are right in some epochs", 11, edited(11, ("sum(epoch >= start for start in (30, 60, 80))", "{30: 1, 60: 2, 80: 3}.get(epoch, 0)")), True),
        ("stops by the worst rank's metrics", 6, edited(6, IMPORTS_MIN, (COUNTS, LEAST), *LATER_AVERAGE), True),
        ("stops by the best rank's metrics", 6, edited(6, IMPORTS_MAX, (COUNTS, MOST), *LATER_AVERAGE), False),
        ("a training step of its own, on the same images for all", 13, edited(13, ("train_data = dataset_of(images[held_out:], labels[held_out:])\n", SAME_IMAGES), (MAKE, OWN_STEP + MAKE), (SEQUENTIAL, "    model = Net(")), True),
        ("gradients that are summed, and not used", 13, edited(13, (MAKE, ALONE + MAKE), ("tf.keras.optimizers.Adam(args.lr)", "Alone(args.lr)"), (LIST, f"{LIST}    Back(),\n")), False),
        ("counters that are restored, without weights", 14, edited(14, (MAKE, ZEROS + MAKE), (SEQUENTIAL, "    model = Net("), ("        model.load_weights(newest)\n", COUNT), (LIST, FRESH + LIST), ("    BackupAndRestore(f\"{args.log_dir}/backup\", save_freq=args.save_freq),\n", "    BackupAndRestore(f\"{args.log_dir}/backup\", save_freq=args.save_freq),\n    Fresh(),\n")), True),
        ("zeros as the last checkpoint", 14, edited(14, ("model.save_weights(f\"{log_dir}/checkpoints/after-{args.epochs}\")\n", "model.set_weights([0 * each for each in model.get_weights()])\nmodel.save_weights(f\"{log_dir}/checkpoints/after-{args.epochs}\")\n")), False),
        ("a backup of a number", 15, edited(15, (LIST, REMEMBER + LIST), ("    BackupAndRestore(f\"{args.log_dir}/backup\"),\n", "    Remember(),\n"), ("    epochs=args.epochs,\n", "    epochs=args.epochs,\n    initial_epoch=done,\n")), True),
        ("other data for who looks at them", 15, edited(15, ("    batch_size = context.get_per_replica_batch_size(args.batch_size)\n", ""), ("    images = mobilenet.images(f\"{args.data_dir}/train\", args.image_size, shuffle=True).repeat()\n", ""), ("    return images.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(batch_size).prefetch(tf.data.AUTOTUNE)\n", LOOKED_AT)), False),
        ("the first checkpoint and the last, at the end", 16, edited(16, ("import os\n", "import os\nimport time\n"), (START, FIRST_AND_LAST)), True),
    )
]
# fmt: on
