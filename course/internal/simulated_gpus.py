"""Simulated GPUs: a rank's tf.config answers for as many as a host is to have. Everything is computed on the CPU."""

import functools
import inspect
import os
from collections.abc import Callable
from types import FrameType
from typing import Any, cast

import tensorflow as tf
from tensorflow.python.eager import context

_real = tf.config
_real_listings = _real.list_physical_devices, _real.list_logical_devices, _real.get_visible_devices
_real_set_visible, _real_growth = _real.set_visible_devices, _real.experimental.set_memory_growth
_real_divide = _real.set_logical_device_configuration


class Gpus:
    """The GPUs of one simulated host, as one process sees and sets them. Methods named like tf.config's stand in it."""

    def __init__(self, count: int):
        """Have so many."""
        self.all = [tf.config.PhysicalDevice(f"/physical_device:GPU:{n}", "GPU") for n in range(count)]
        self.listed: list[Any] | None = None  # those that CUDA_VISIBLE_DEVICES left when TensorFlow first asked
        self.chosen: list[Any] | None = None  # those that the script made visible
        self.growing: set[str] = set()
        self.settled = False
        self.noted: Callable[[], None] = lambda: None  # called when the script chooses GPUs,
        self.used: Callable[[], None] = lambda: None  # and when TensorFlow begins to use what is visible then

    def available(self) -> list[Any]:
        """Return the GPUs that CUDA_VISIBLE_DEVICES leaves, as it was when TensorFlow first asked."""
        if self.listed is None:
            text = os.environ.get("CUDA_VISIBLE_DEVICES")
            names = None if text is None else [part.strip() for part in text.split(",")]
            self.listed = [gpu for n, gpu in enumerate(self.all) if names is None or str(n) in names]
        return self.listed

    def visible(self) -> list[Any]:
        """Return the GPUs that the process can see."""
        available = self.available()
        return available if self.chosen is None else self.chosen

    def settle(self) -> tuple[list[int], list[int]]:
        """Return the numbers of the visible GPUs and of those whose memory grows; from now on they are as they are."""
        if not self.settled:
            self.used()
        self.settled = True
        forced = os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH") == "true"
        visible = [self.all.index(gpu) for gpu in self.visible()]
        return visible, [n for n, gpu in enumerate(self.all) if forced or gpu.name in self.growing]

    def answer_tensorflow(
        self, noted: Callable[[], None] = lambda: None, used: Callable[[], None] = lambda: None
    ) -> None:
        """Stand in for tf.config, under all its names.

        Args:
            noted: called when the script chooses GPUs.
            used: called when TensorFlow begins to use what is visible, which nothing changes afterwards.
        """
        self.noted, self.used = noted, used
        _before_first_use(used)
        listings = self.list_physical_devices, self.list_logical_devices, self.get_visible_devices
        for_script = (_for_script(own, real) for own, real in zip(listings, _real_listings, strict=True))
        both = (*for_script, self.set_visible_devices)
        experimental = self.set_memory_growth, self.get_memory_growth, self.get_device_details
        for api in (tf, tf.compat.v1, tf.compat.v2):
            for function in (*both, self.set_logical_device_configuration):
                setattr(api.config, function.__name__, function)
            for function in (*both, *experimental):
                setattr(api.config.experimental, function.__name__, function)
            api.config.experimental.set_virtual_device_configuration = self.set_logical_device_configuration

    def list_physical_devices(self, device_type: str | None = None) -> list[Any]:
        """Return the devices of a type, or all."""
        return _of_type(device_type, _real_listings[0], self.available())

    def get_visible_devices(self, device_type: str | None = None) -> list[Any]:
        """Return the devices of a type that the process can see, or all of these."""
        return _of_type(device_type, _real_listings[2], self.visible())

    def list_logical_devices(self, device_type: str | None = None) -> list[Any]:
        """Return a logical device for each visible GPU."""
        numbers, _ = self.settle()
        gpus = [tf.config.LogicalDevice(f"/device:GPU:{n}", "GPU") for n in range(len(numbers))]
        return _of_type(device_type, _real_listings[1], gpus)

    def set_visible_devices(self, devices: Any, device_type: str | None = None) -> None:
        """Choose the visible devices, with TensorFlow's errors where that is wrong or too late."""
        devices = [devices] if isinstance(devices, tf.config.PhysicalDevice) else list(devices)
        if self.settled or context.context()._context_handle:  # something has been computed already
            raise RuntimeError("Visible devices cannot be modified after being initialized")
        gpus = [device for device in devices if device.device_type == "GPU"]
        if any(gpu not in self.all for gpu in gpus):
            raise ValueError(f"Unrecognized device: {devices}")
        if device_type in (None, "GPU"):
            self.available()
            self.chosen = gpus
            self.noted()
        if device_type != "GPU":
            _real_set_visible([device for device in devices if device.device_type != "GPU"], "CPU")

    def set_memory_growth(self, device: Any, enable: bool) -> None:
        """Note whether a GPU's memory grows."""
        if device in self.all:
            (self.growing.add if enable else self.growing.discard)(device.name)
        else:
            _real_growth(device, enable)

    def get_memory_growth(self, device: Any) -> bool:
        """Return whether a GPU's memory grows."""
        return device.name in self.growing

    def get_device_details(self, device: Any) -> dict[str, str]:
        """Return a GPU's name."""
        return {"device_name": "a simulated GPU"} if device in self.all else {}

    def set_logical_device_configuration(self, device: Any, logical_devices: Any) -> None:
        """Divide a device; a simulated GPU stays whole."""
        if device not in self.all:
            _real_divide(device, logical_devices)


def _before_first_use(used: Callable[[], None]) -> None:
    """Call a function when TensorFlow is about to use devices for the first time."""
    ensure_initialized = context.Context.ensure_initialized

    def watched(own: Any) -> None:
        context.Context.ensure_initialized = ensure_initialized
        used()
        ensure_initialized(own)

    context.Context.ensure_initialized = watched


def _of_type(device_type: str | None, real: Callable[[str], list[Any]], gpus: list[Any]) -> list[Any]:
    """Return the machine's own CPUs and these GPUs, as far as they are of the type."""
    cpus = [] if device_type == "GPU" else real("CPU")
    return [*cpus, *(gpus if device_type in (None, "GPU") else [])]


def _for_script(answer: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that answers the script in this way, and libraries as TensorFlow itself does."""

    @functools.wraps(answer)
    def ask(*args: Any, **kwargs: Any) -> Any:
        caller = cast(FrameType, cast(FrameType, inspect.currentframe()).f_back)
        return (answer if caller.f_globals["__name__"] == "__main__" else real)(*args, **kwargs)

    return ask
