"""Correct scripts of the first part whose network is written in another way. Each one passes.

The same layers, from a class with methods, in a Sequential model, in a subclass of Model, and with a training step of
its own.
"""

from tests.corpus.horovod_passages import IMPORT, IMPORT_BOTH, NETWORK, RETURN_MODEL, WRAP
from tests.corpus.variant import before, importing, right

_BUILDER = '''

@dataclass(frozen=True)
class WideResidualNetwork:
    """The network of Zagoruyko and Komodakis, by its depth and width."""

    depth: int
    widen_factor: int
    weight_decay: float = 0.0
    classes: int = 10

    GROUPS: ClassVar[Tuple[Tuple[int, int], ...]] = ((16, 1), (32, 2), (64, 2))

    @property
    def blocks(self) -> int:
        """How many blocks a group has."""
        return (self.depth - 4) // 6

    @property
    def penalty(self) -> tf.keras.regularizers.Regularizer:
        return tf.keras.regularizers.l2(self.weight_decay)

    def conv(self, x: tf.Tensor, filters: int, size: int, strides: int = 1) -> tf.Tensor:
        return tf.keras.layers.Conv2D(
            filters,
            size,
            strides,
            padding="same",
            use_bias=False,
            kernel_initializer="he_normal",
            kernel_regularizer=self.penalty,
        )(x)

    @staticmethod
    def activate(x: tf.Tensor) -> tf.Tensor:
        return tf.keras.layers.ReLU()(tf.keras.layers.BatchNormalization()(x))

    def block(self, x: tf.Tensor, filters: int, strides: int) -> tf.Tensor:
        activated = self.activate(x)
        shortcut = x
        if strides != 1 or x.shape[-1] != filters:
            shortcut = self.conv(activated, filters, size=1, strides=strides)
        y = self.activate(self.conv(activated, filters, size=3, strides=strides))
        return shortcut + self.conv(tf.keras.layers.Dropout(0.01)(y), filters, size=3)

    def build(self, shape: Tuple[int, int, int] = (28, 28, 1)) -> tf.keras.Model:
        """Return the model."""
        inputs = tf.keras.Input(shape)
        x = self.conv(inputs, 16, size=3)
        for filters, strides in self.GROUPS:
            for number in range(self.blocks):
                x = self.block(x, filters * self.widen_factor, 1 if number else strides)
        x = tf.keras.layers.GlobalAveragePooling2D()(self.activate(x))
        classify = tf.keras.layers.Dense(self.classes, activation="softmax", kernel_regularizer=self.penalty)
        return tf.keras.Model(inputs, classify(x), name=type(self).__name__)


def create_model() -> tf.keras.Model:
    return WideResidualNetwork(args.depth, args.widen_factor, args.wd).build()

'''

_LAYERS = '''from tensorflow.keras import layers

penalty = tf.keras.regularizers.l2(args.wd)
conv = partial(
    layers.Conv2D, padding="same", use_bias=False, kernel_initializer="he_normal", kernel_regularizer=penalty
)


class Block(layers.Layer):
    """Two convolutions, added to what goes into them."""

    def __init__(self, filters, strides, **options):
        super().__init__(**options)
        self.filters, self.strides = filters, strides

    def build(self, shape):
        self.norms = [layers.BatchNormalization(), layers.BatchNormalization()]
        self.convs = [conv(self.filters, 3, strides=self.strides), conv(self.filters, 3)]
        self.dropout = layers.Dropout(0.01)
        fits = self.strides == 1 and shape[-1] == self.filters
        self.shortcut = None if fits else conv(self.filters, 1, strides=self.strides)
        super().build(shape)

    def call(self, x, training=None):
        activated = tf.nn.relu(self.norms[0](x, training=training))
        shortcut = self.shortcut(activated) if self.shortcut else x
        y = tf.nn.relu(self.norms[1](self.convs[0](activated), training=training))
        return shortcut + self.convs[1](self.dropout(y, training=training))

    def get_config(self):
        return {**super().get_config(), "filters": self.filters, "strides": self.strides}


def make_blocks():
    """Return the blocks of all three groups."""
    return [
        Block(filters * args.widen_factor, strides if number == 0 else 1)
        for filters, strides in zip((16, 32, 64), (1, 2, 2))
        for number in range((args.depth - 4) // 6)
    ]

'''
_SEQUENTIAL = """
def create_model():
    return tf.keras.Sequential(
        [
            layers.InputLayer((28, 28, 1)),
            conv(16, 3),
            *make_blocks(),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, "softmax", kernel_regularizer=penalty),
        ]
    )

"""
_SUBCLASS = '''
class WideResidualNetwork(tf.keras.Model):
    """A stem, blocks, and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = conv(16, 3)
        self.blocks = make_blocks()
        self.norm = layers.BatchNormalization()
        self.classify = layers.Dense(10, "softmax", kernel_regularizer=penalty)

    def call(self, images, training=None):
        x = self.stem(images)
        for block in self.blocks:
            x = block(x, training=training)
        x = tf.nn.relu(self.norm(x, training=training))
        return self.classify(tf.reduce_mean(x, axis=(1, 2)))


def create_model():
    return WideResidualNetwork()

'''
_BUILT = _SUBCLASS.replace(
    "    return WideResidualNetwork()\n",
    "    model = WideResidualNetwork()\n    model.build((None, 28, 28, 1))\n    return model\n",
)

_TRACKED = '''class TrackedModel(tf.keras.Model):
    """Trains by a step of its own, which averages gradients, and keeps its own metrics."""

    def compile(self, **settings):
        super().compile(**settings)
        self.loss_tracker = tf.keras.metrics.Mean(name="loss")
        self.accuracy_tracker = tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")

    @property
    def metrics(self):
        return [self.loss_tracker, self.accuracy_tracker]

    def loss_of(self, batch, training):
        images, labels = batch
        answers = self(images, training=training)
        loss = self.compiled_loss(labels, answers, regularization_losses=self.losses)
        self.loss_tracker.update_state(loss)
        self.accuracy_tracker.update_state(labels, answers)
        return loss

    def results(self):
        return {metric.name: metric.result() for metric in self.metrics}

    def train_step(self, batch):
        with tf.GradientTape() as tape:
            loss = self.loss_of(batch, training=True)
        tape = hvd_tf.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return self.results()

    def test_step(self, batch):
        self.loss_of(batch, training=False)
        return self.results()


'''
_PARTIAL = importing("from functools import partial")

CORRECT = (
    right(6, "a network built by a typed class")(
        importing("from dataclasses import dataclass", "from typing import ClassVar, Tuple"), (NETWORK, _BUILDER)
    ),
    right(6, "a Sequential model of own layers")(_PARTIAL, (NETWORK, _LAYERS + _SEQUENTIAL)),
    right(6, "a subclass of Model")(_PARTIAL, (NETWORK, _LAYERS + _SUBCLASS)),
    right(6, "a subclass of Model, built before it is compiled")(_PARTIAL, (NETWORK, _LAYERS + _BUILT)),
    right(6, "an own training step with its own metrics")(
        (IMPORT, IMPORT_BOTH),
        before("def create_model(", _TRACKED),
        (RETURN_MODEL, "    return TrackedModel(inputs, outputs)\n"),
        (WRAP, ""),
    ),
)
