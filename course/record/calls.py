"""Watch calls of a library's function: replace it by one that calls another function, too, with the same arguments."""

import functools
from collections.abc import Callable
from typing import Any


def before(owner: Any, name: str, act: Callable[..., object]) -> None:
    """Call a function before each call of owner.name, where owner is a module, a class or an object."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        act(*args, **kwargs)
        return function(*args, **kwargs)

    setattr(owner, name, call)


def after(owner: Any, name: str, act: Callable[..., object]) -> None:
    """Call a function after each call of owner.name that raises no error."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        act(*args, **kwargs)
        return result

    setattr(owner, name, call)
