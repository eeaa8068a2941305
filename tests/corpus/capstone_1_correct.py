"""Correct scripts of the first part's capstone. Each one passes."""

from tests.corpus.capstone_1_passages import (
    AVERAGE,
    BATCHED,
    BOARD,
    BROADCAST,
    EPOCHS,
    FIT,
    IMPORT,
    IMPORT_BOTH,
    OPTIMIZER,
    PICK,
    PIPELINE,
    RATE,
    READ,
    SGD,
    SHARDED,
    SHARE,
    SHUFFLED,
    SOLUTION,
    STOP,
    VERBOSE,
    own_step,
)
from tests.corpus.variant import passage, right

_TRAINER = '''class Trainer:
    """One rank of a training."""

    def __init__(self, parse):
        hvd.init()
        self.args = parse()
        self.logger = logging.getLogger(f"rank {hvd.rank()} of {hvd.size()}")
        self.logger.setLevel(logging.WARNING if hvd.rank() else logging.INFO)
        self.logger.addHandler(logging.StreamHandler())

    def data(self):
        train, test = data.load(self.args.data_dir, self.args.train_samples, self.args.test_samples)
        yield pipeline(*train, batch_size=self.args.batch_size, shuffled=True)
        yield pipeline(*test, batch_size=self.args.val_batch_size, shuffled=False)

    def callbacks(self):
        found = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
        found.append(StopAt(self.args.stop_at))
        if hvd.rank() == 0:
            found.append(tf.keras.callbacks.TensorBoard(self.args.log_dir))
        return found

    def network(self):
        network = build_network(self.args.hidden)
        optimizer = tf.keras.optimizers.SGD(learning_rate=hvd.size() * self.args.learning_rate)
        network.compile(hvd.DistributedOptimizer(optimizer), "sparse_categorical_crossentropy", ["accuracy"])
        return network

    def run(self):
        pin_gpu()
        if self.args.seed is not None:
            tf.keras.utils.set_random_seed(self.args.seed)
        training, validation = self.data()
        history = self.network().fit(
            training,
            epochs=self.args.epochs,
            validation_data=validation,
            callbacks=self.callbacks(),
            verbose=0 if hvd.rank() else 2,
        )
        self.logger.info("validation accuracy by epoch: %s", history.history["val_accuracy"])


'''

CORRECT = (
    right(101, "the solution of capstone 1")(),
    right(101, "a warm-up of one epoch")(
        (STOP, f"        hvd.callbacks.LearningRateWarmupCallback({RATE}, 1, momentum_correction=False),\n{STOP}")
    ),
    right(101, "the rate set by a schedule")(
        (SGD, "tf.keras.optimizers.SGD(args.learning_rate)"),
        (STOP, f"        tf.keras.callbacks.LearningRateScheduler(lambda epoch: {RATE}),\n{STOP}"),
    ),
    right(101, "all images shuffled on every rank, and steps per epoch")(
        (
            PIPELINE,
            "    if shuffled:\n"
            "        return dataset.shuffle(len(images)).repeat().batch(batch_size)\n"
            "    return dataset.shard(hvd.size(), hvd.rank()).take(len(images) // hvd.size()).batch(batch_size)\n",
        ),
        (EPOCHS, f"{EPOCHS}        steps_per_epoch=len(train_images) // args.batch_size // hvd.size(),\n"),
    ),
    right(101, "steps per epoch rounded up")(
        (SHARDED + SHUFFLED, SHARDED + SHUFFLED + "    if shuffled:\n        dataset = dataset.repeat()\n"),
        (EPOCHS, f"{EPOCHS}        steps_per_epoch=-(-len(train_images) // (args.batch_size * hvd.size())),\n"),
    ),
    right(101, "shares of the arrays")(
        (
            '    scaled = images[..., None].astype("float32") / 255\n',
            "    share = len(images) // hvd.size()\n"
            "    own = slice(hvd.rank() * share, (hvd.rank() + 1) * share)\n"
            "    images, labels = images[own], labels[own]\n"
            '    scaled = images[..., None].astype("float32") / 255\n',
        ),
        (SHARE + SHARDED, ""),
    ),
    right(101, "shares of whole batches")(
        (
            PIPELINE,
            "    if shuffled:\n"
            "        dataset = dataset.shuffle(len(images), seed=7)\n"
            "    batches = len(images) // batch_size // hvd.size()\n"
            "    return dataset.batch(batch_size).shard(hvd.size(), hvd.rank()).take(batches)\n",
        )
    ),
    right(101, "weights broadcast before training")(
        (IMPORT, IMPORT_BOTH),
        (BROADCAST, ""),
        (FIT, f"    hvd_tf.broadcast_variables(network.variables, root_rank=0)\n{FIT}"),
    ),
    right(101, "gradients averaged in a training step of one's own")(
        *own_step(
            "with tf.GradientTape() as tape:",
            "    answers = self(images, training=True)",
            "    loss = self.compute_loss(images, labels, answers)",
            "gradients = [hvd_tf.allreduce(each) for each in tape.gradient(loss, self.trainable_variables)]",
        )
    ),
    right(101, "a tape of Horovod's in a training step of one's own")(
        *own_step(
            "with tf.GradientTape() as tape:",
            "    answers = self(images, training=True)",
            "    loss = self.compute_loss(images, labels, answers)",
            "tape = hvd_tf.DistributedGradientTape(tape)",
            "gradients = tape.gradient(loss, self.trainable_variables)",
        )
    ),
    right(101, "gradients sent in 16 bits")(
        (OPTIMIZER, f"optimizer=hvd.DistributedOptimizer({SGD}, compression=hvd.Compression.fp16),")
    ),
    right(101, "metrics averaged where one of them is read")(
        (AVERAGE, ""),
        (
            READ,
            "        for name in sorted(logs):\n"
            f"            logs[name] = float(hvd.allreduce(logs[name], name=name))\n{READ}",
        ),
    ),
    right(101, "callbacks and verbosity by arithmetic")(
        (BOARD, "    callbacks += [tf.keras.callbacks.TensorBoard(args.log_dir)] * (hvd.rank() == 0)\n"),
        (VERBOSE, "        verbose=2 * (not hvd.rank()),\n"),
    ),
    right(101, "the rank without a GPU says so")(
        (PICK, f'    if hvd.local_rank() >= len(gpus):\n        raise SystemExit("there is no GPU for me")\n{PICK}'),
        (BATCHED, "    return dataset.batch(batch_size).prefetch(1)\n"),
    ),
    right(101, "a class that trains, with a logger")(
        ("import argparse\nimport os\n", "import argparse\nimport logging\nimport os\n"),
        (passage(SOLUTION, "def main():", "print(f"), _TRAINER),
        ("    main()\n", "    Trainer(parse_arguments).run()\n"),
    ),
)
