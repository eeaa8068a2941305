"""Correct scripts of step 11 in styles that people use: classes, plots, trackers, clocks. Each one passes."""

from tests.corpus.horovod_passages import IMPORT
from tests.corpus.production_passages import (
    BEFORE_FIT,
    FINAL,
    LIST,
    OBJECT_IMPORT,
    ON_ONE_RANK,
    RESUME,
    SAVE_WEIGHTS,
    WARMUP,
)
from tests.corpus.variant import after, before, importing, passage, right, section

INIT = "hvd.init()\n"
VERBOSE = "verbose = 1 if hvd.rank() == 0 else 0\n"
NUMPY = "import numpy as np\n"
KEEP_HISTORY = (BEFORE_FIT, f"history = {BEFORE_FIT}")
TRAINING = section(FINAL, "Training")


_TRAINER = '''

class Trainer:
    """A training that resumes from the newest checkpoint."""

    DROPS = {30: 0.1, 60: 0.01, 80: 0.001}

    def __init__(self, args):
        self.args = args
        self.is_chief = hvd.rank() == 0
        self.full_rate = args.base_lr * hvd.size()
        self.first_epoch = broadcast_object(newest_checkpoint() if self.is_chief else None, root_rank=0)
        self.model = self.restored() if self.first_epoch else self.compiled(create_model())

    def compiled(self, model):
        optimizer = tf.keras.optimizers.SGD(self.full_rate, momentum=self.args.momentum, weight_decay=self.args.wd)
        model.compile(
            optimizer=hvd.DistributedOptimizer(optimizer),
            loss=tf.keras.losses.CategoricalCrossentropy(),
            metrics=["accuracy", tf.keras.metrics.TopKCategoricalAccuracy(k=5, name="top_5_accuracy")],
        )
        return model

    def restored(self):
        content = checkpoint_path(self.first_epoch).read_bytes() if self.is_chief else None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "checkpoint.h5")
            path.write_bytes(broadcast_object(content, root_rank=0))
            return hvd.load_model(path)

    def rate(self, epoch):
        return self.full_rate * self.DROPS.get(max((start for start in self.DROPS if start <= epoch), default=None), 1)

    @property
    def callbacks(self):
        yield hvd.callbacks.BroadcastGlobalVariablesCallback(root_rank=0)
        yield hvd.callbacks.MetricAverageCallback()
        yield tf.keras.callbacks.LearningRateScheduler(self.rate)
        yield hvd.callbacks.LearningRateWarmupCallback(
            initial_lr=self.full_rate, warmup_epochs=self.args.warmup_epochs, momentum_correction=False
        )
        if self.is_chief:
            yield tf.keras.callbacks.TensorBoard(self.args.log_dir)
            yield SaveCheckpoint()

    def train(self):
        return self.model.fit(
            x=share_of(train_iter, itertools.count(self.first_epoch)),
            steps_per_epoch=steps_of(train_iter),
            initial_epoch=self.first_epoch,
            epochs=self.args.epochs,
            callbacks=list(self.callbacks),
            verbose=2 if self.is_chief else 0,
            validation_data=share_of(val_iter, itertools.repeat(0)),
            validation_steps=steps_of(val_iter),
        )

    def keep(self):
        if self.is_chief:
            self.model.save_weights(Path(self.args.log_dir, "weights.h5"))
            store.upload(self.args.log_dir, self.args.train_url)


if __name__ == "__main__":
    trainer = Trainer(args)
    trainer.train()
    trainer.keep()
'''
_LAMBDA_WARMUP = '''def grow(batch, logs):
    """Raise the rate with each batch of the first epochs. The optimizer counts its steps, after a restart too."""
    done = int(model.optimizer.iterations) / (args.warmup_epochs * steps_of(train_iter))
    if done < 1:
        tf.keras.backend.set_value(model.optimizer.lr, args.base_lr + done * (full_lr - args.base_lr))


'''
_PLOT = """    figure, (left, right) = plt.subplots(2, sharex=True)
    left.semilogy(history.epoch, history.history.get("lr", []))
    right.plot(history.epoch, history.history.get("val_top_5_accuracy", []))
    figure.savefig(Path(args.log_dir, "curves.png"), dpi=72)
"""
_TABLE = """    os.makedirs(args.log_dir, exist_ok=True)
    callbacks.append(tf.keras.callbacks.CSVLogger(Path(args.log_dir, "epochs.csv"), append=initial_epoch > 0))
    if mlflow is not None:
        mlflow.tensorflow.autolog()
"""
_ABSENT = """
try:
    import mlflow
except ImportError:
    mlflow = None
"""
_SPEED = """class Speed(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.process = psutil.Process()
        self.times = collections.deque(maxlen=100)

    def on_train_batch_end(self, batch, logs=None):
        self.times.append(time.perf_counter())

    def on_epoch_end(self, epoch, logs=None):
        if len(self.times) > 1:
            step = (self.times[-1] - self.times[0]) / (len(self.times) - 1)
            rate = args.batch_size * hvd.size() / step
            print(f"{rate:.0f} images/s, {self.process.memory_info().rss >> 20} MiB, {psutil.cpu_percent():.0f} %")
        self.times.clear()


"""
_SYNCHRONISED = "SyncBatchNormalization(name=f\"norm_{tf.keras.backend.get_uid('norm')}\")"
_NETWORKS = """NETWORKS = {"resnet50": getattr(tf.keras.applications, "ResNet50"), "small": small_network}


def create_model():
    network = NETWORKS[args.model]
    inputs = tf.keras.Input((*shape, 3))
    if network is small_network:
        features = network(inputs)
    else:
        features = network(weights=None, include_top=False, pooling="avg", input_tensor=inputs).output
    outputs = layers.Dense(args.classes, activation=tf.nn.softmax)(features)
    return tf.keras.Model(inputs=inputs, outputs=outputs, name=args.model)
"""

CORRECT = (
    right(11, "a class that resumes and trains", in_ci=True)((RESUME, ""), (TRAINING, _TRAINER)),
    right(11, "warm-up by a LambdaCallback")(
        before(LIST, _LAMBDA_WARMUP), (WARMUP, "    tf.keras.callbacks.LambdaCallback(on_batch_begin=grow),\n")
    ),
    right(11, "curves plotted, a table appended to, a tracker that is absent")(
        importing("import matplotlib.pyplot as plt"),
        after(OBJECT_IMPORT, _ABSENT),
        (ON_ONE_RANK, ON_ONE_RANK.replace("    callbacks", f"{_TABLE}    callbacks")),
        KEEP_HISTORY,
        before(SAVE_WEIGHTS, _PLOT),
    ),
    right(11, "speed and memory of rank 0")(
        importing("import collections", "import time", "", "import psutil"),
        before(LIST, _SPEED),
        before(BEFORE_FIT, "if verbose:\n    callbacks.append(Speed())\n\n"),
    ),
    right(11, "batch normalisation over all ranks, restored from checkpoints")(
        (OBJECT_IMPORT, "from horovod.tensorflow import SyncBatchNormalization, broadcast_object\n"),
        ("layers.BatchNormalization(momentum=0.9)", _SYNCHRONISED),
        (
            "hvd.load_model(file.name)",
            'hvd.load_model(file.name, custom_objects={"SyncBatchNormalization": SyncBatchNormalization})',
        ),
    ),
    right(11, "networks by name")((passage(FINAL, "def create_model():", "return tf.keras.Model("), _NETWORKS)),
    right(11, "damaged images are read as far as they go")(
        after(NUMPY, "from PIL import ImageFile\n"), after(INIT, "ImageFile.LOAD_TRUNCATED_IMAGES = True\n")
    ),
    right(11, "Horovod's API for TensorFlow, and Keras' next to it")(
        (IMPORT, "import horovod.tensorflow as hvd\nimport horovod.tensorflow.keras as hvd_keras\n"),
        (OBJECT_IMPORT, ""),
        ("broadcast_object(", "hvd.broadcast_object("),
        ("hvd.callbacks.", "hvd_keras.callbacks."),
        ("hvd.load_model(", "hvd_keras.load_model("),
    ),
)
