"""A model of what a training step costs on several ranks: computation, and the allreduce of the gradients.

The formulas need no measurement and no package but NumPy. course.scaling.published holds them to figures that others
have published, and course.scaling.prediction answers questions such as "what will 512 GPUs do?".
"""

from course.scaling.allreduce import (
    ALGORITHMS,
    allreduce_seconds,
    crossover_bytes,
    fused_allreduce_seconds,
    hierarchical_seconds,
)
from course.scaling.fit import fit_alpha_beta
from course.scaling.laws import amdahl, efficiency, gustafson, speed_up
from course.scaling.models import MODELS
from course.scaling.step import exposed_seconds, step_seconds
from course.scaling.training import energy_kwh, hours_to_train, price

__all__ = [
    "ALGORITHMS",
    "MODELS",
    "allreduce_seconds",
    "amdahl",
    "crossover_bytes",
    "efficiency",
    "energy_kwh",
    "exposed_seconds",
    "fit_alpha_beta",
    "fused_allreduce_seconds",
    "gustafson",
    "hierarchical_seconds",
    "hours_to_train",
    "price",
    "speed_up",
    "step_seconds",
]
