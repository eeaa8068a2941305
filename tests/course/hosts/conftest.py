"""Homes of ordinary users go when a test ends."""

import shutil

import pytest

from tests.course.hosts.ordinary import HOMES


@pytest.fixture(autouse=True)
def homes():
    """Remove the homes that a test made, and all that is in them."""
    yield
    while HOMES:
        shutil.rmtree(HOMES.pop())
