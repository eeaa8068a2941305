"""What a whole training takes: hours, money and energy."""

from math import ceil


def hours_to_train(images: int, epochs: float, batch: int, step: float) -> float:
    """Return the hours of a training.

    Args:
        images: of an epoch.
        epochs: their number.
        batch: images in a step, of all ranks together. The last step of an epoch may have fewer.
        step: seconds of a step.
    """
    return ceil(images / batch) * epochs * step / 3600


def price(gpus: int, hours: float, per_gpu_hour: float) -> float:
    """Return what GPUs cost for some hours, in the currency of the price per GPU and hour."""
    return gpus * hours * per_gpu_hour


def energy_kwh(gpus: int, hours: float, watts: float, overhead: float = 1.0) -> float:
    """Return the energy in kWh.

    Args:
        gpus: their number.
        hours: that they run.
        watts: of one GPU, with its share of the host.
        overhead: energy of the data centre per energy of its computers (power usage effectiveness), at least 1.
    """
    return gpus * hours * watts * overhead / 1000
