"""Watch NumPy's global generator: with which seeds a script starts it anew while it trains."""

import hashlib
from typing import Any

import numpy as np

from grader.terms.facts import HorovodFacts

MOST = 100  # seeds that are noted

_get_state = np.random.get_state  # NumPy's own, which is not watched


def state() -> str:
    """Return a digest of the state that NumPy's global generator is in."""
    return _digest(_get_state())


def watch(facts: HorovodFacts) -> None:
    """Note, with each training, the seeds that the generator is given, unless its state is set back after that."""
    seed, get_state, set_state = np.random.seed, np.random.get_state, np.random.set_state
    had: set[str] = set()  # states of the generator that the script has asked for

    def note(what: object) -> None:
        if facts.fits and len(facts.fits[-1].seeds) < MOST:
            facts.fits[-1].seeds.append(str(what)[:100])

    def watched_seed(*args: Any, **kwargs: Any) -> None:
        seed(*args, **kwargs)
        given = [*args, *kwargs.values()]
        if given and given[0] is not None:
            note(given[0])

    def watched_get_state(*args: Any, **kwargs: Any) -> Any:
        had.add(_digest(get_state()))
        return get_state(*args, **kwargs)

    def watched_set_state(*args: Any, **kwargs: Any) -> None:
        set_state(*args, **kwargs)
        state = _digest(get_state())
        if state not in had:
            note(f"state {state[:8]} of another generator")
        elif facts.fits and facts.fits[-1].seeds:
            facts.fits[-1].seeds.pop()

    np.random.seed, np.random.get_state, np.random.set_state = watched_seed, watched_get_state, watched_set_state


def _digest(state: Any) -> str:
    """Return a text that tells a state of NumPy's generator from others."""
    return hashlib.sha256(repr([np.asarray(part).tolist() for part in state]).encode()).hexdigest()
