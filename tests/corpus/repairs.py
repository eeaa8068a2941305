"""All rows of the hunt's corpus."""

import importlib
import pkgutil
from pathlib import Path

from tests.corpus.repair import Repair

_MODULES = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
REPAIRS: list[Repair] = [
    row
    for name in _MODULES
    if name.startswith("repairs_")
    for row in importlib.import_module(f"tests.corpus.{name}").REPAIRS
]
