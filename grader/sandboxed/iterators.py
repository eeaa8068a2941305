"""Keep data iterators until the process ends, since taking one down may take many seconds.

Each iterator over a data set has a thread that tunes it now and then, at intervals that double, up to a minute. Taking
the iterator down wakes that thread, and waits for it; but TensorFlow 2.15 calls the thread before it says that it has
to end (CancellationManager::StartCancel runs the callbacks, and sets the flag that Model::OptimizeLoop reads after
them). On a busy machine the thread may look in between, and sleeps on: the program stands still for ten seconds or
more, at the end of model.fit or of an evaluation, as if it were deadlocked.
"""

from typing import Any

from tensorflow.python.data.ops import iterator_ops, multi_device_iterator_ops

KINDS: tuple[Any, ...] = (iterator_ops.OwnedIterator, multi_device_iterator_ops.OwnedMultiDeviceIterator)

_kept: list[Any] = []


def keep_iterators() -> None:
    """Keep every data iterator that this process makes from now on."""
    for kind in KINDS:
        _keep(kind)


def _keep(kind: Any) -> None:
    begin = kind.__init__

    def kept(iterator: Any, *args: Any, **kwargs: Any) -> None:
        _kept.append(iterator)
        begin(iterator, *args, **kwargs)

    kind.__init__ = kept
