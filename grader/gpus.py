"""GPUs that are not there: a rank's tf.config answers for as many as the simulated host has.

Imported by grader.probe alone, inside a rank.
"""

import functools
import inspect
import os
from collections.abc import Callable

import tensorflow as tf
from tensorflow.python.eager import context


def _for_script(answer: Callable, real: Callable) -> Callable:
    """Return a function that answers the script in this way, and libraries, which would use what there is, as ever."""

    @functools.wraps(answer)
    def ask(*args, **kwargs):
        from_script = inspect.currentframe().f_back.f_globals["__name__"] == "__main__"
        return (answer if from_script else real)(*args, **kwargs)

    return ask


class Gpus:
    """The GPUs of one simulated host, as one process sees and sets them."""

    def __init__(self, count: int):
        """Have so many."""
        self.all = [tf.config.PhysicalDevice(f"/physical_device:GPU:{n}", "GPU") for n in range(count)]
        self.listed = None  # those that CUDA_VISIBLE_DEVICES leaves, as it was when TensorFlow first asked
        self.chosen = None  # those that the script made visible
        self.growing = set()
        self.settled = False

    def visible(self) -> list:
        """Return the GPUs that the process can see."""
        if self.listed is None:
            text = os.environ.get("CUDA_VISIBLE_DEVICES")
            names = None if text is None else [part.strip() for part in text.split(",")]
            self.listed = [gpu for n, gpu in enumerate(self.all) if names is None or str(n) in names]
        return self.listed if self.chosen is None else self.chosen

    def settle(self) -> tuple[list[int], list[int]]:
        """Return the numbers of the visible GPUs and of those whose memory grows; from now on they are as they are."""
        self.settled = True
        forced = os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH") == "true"
        visible = [self.all.index(gpu) for gpu in self.visible()]
        return visible, [n for n, gpu in enumerate(self.all) if forced or gpu.name in self.growing]

    def answer_tensorflow(self, noted: Callable[[], None]) -> None:
        """Put answers in the place of TensorFlow's, under all API names; noted is called when GPUs are chosen."""
        config = tf.config
        real_list, real_visible = config.list_physical_devices, config.get_visible_devices
        real_set, real_growth = config.set_visible_devices, config.experimental.set_memory_growth
        real_logical, real_divide = config.list_logical_devices, config.set_logical_device_configuration

        def list_physical_devices(device_type=None):
            self.visible()
            cpus = [] if device_type == "GPU" else real_list("CPU")
            return cpus + (self.listed if device_type in (None, "GPU") else [])

        def get_visible_devices(device_type=None):
            cpus = [] if device_type == "GPU" else real_visible("CPU")
            return cpus + (list(self.visible()) if device_type in (None, "GPU") else [])

        def set_visible_devices(devices, device_type=None):
            devices = [devices] if isinstance(devices, tf.config.PhysicalDevice) else list(devices)
            if self.settled or context.context()._context_handle:  # something has been computed already
                raise RuntimeError("Visible devices cannot be modified after being initialized")
            gpus = [device for device in devices if device.device_type == "GPU"]
            if any(gpu not in self.all for gpu in gpus):
                raise ValueError(f"Unrecognized device: {devices}")
            if device_type in (None, "GPU"):
                self.visible()
                self.chosen = gpus
                noted()
            if device_type != "GPU":
                real_set([device for device in devices if device.device_type != "GPU"], "CPU")

        def set_memory_growth(device, enable):
            if device in self.all:
                (self.growing.add if enable else self.growing.discard)(device.name)
            else:
                real_growth(device, enable)

        def get_memory_growth(device):
            return device.name in self.growing

        def get_device_details(device):
            return {"device_name": "a simulated GPU"} if device in self.all else {}

        def list_logical_devices(device_type=None):
            numbers, _ = self.settle()
            gpus = [tf.config.LogicalDevice(f"/device:GPU:{n}", "GPU") for n in range(len(numbers))]
            cpus = [] if device_type == "GPU" else real_logical("CPU")
            return cpus + (gpus if device_type in (None, "GPU") else [])

        def set_logical_device_configuration(device, logical_devices):
            if device not in self.all:
                real_divide(device, logical_devices)

        listings = (
            _for_script(list_physical_devices, real_list),
            _for_script(list_logical_devices, real_logical),
            _for_script(get_visible_devices, real_visible),
        )
        both = (*listings, set_visible_devices)
        experimental = (set_memory_growth, get_memory_growth, get_device_details)
        for api in (tf, tf.compat.v1, tf.compat.v2):
            for function in (*both, set_logical_device_configuration):
                setattr(api.config, function.__name__, function)
            for function in (*both, *experimental):
                setattr(api.config.experimental, function.__name__, function)
            api.config.experimental.set_virtual_device_configuration = set_logical_device_configuration
