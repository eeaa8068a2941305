"""getattr, setattr and vars in scripts: what they find and change, and what they do not."""

import argparse
import json
import sys

import pytest

from grader.sandboxed.by_text import FUNCTIONS

get, set_, all_of = FUNCTIONS["getattr"], FUNCTIONS["setattr"], FUNCTIONS["vars"]


def test_arguments_are_read_and_changed():
    arguments = argparse.Namespace(epochs=1)
    set_(arguments, "epochs", 2)
    assert get(arguments, "epochs") == 2 and get(arguments, "none", 3) == 3 and all_of(arguments) == {"epochs": 2}


@pytest.mark.parametrize(
    "look",
    [
        lambda: get(json.dumps, "__globals__"),
        lambda: get(json, "codecs"),
        lambda: get(sys._getframe(), "f_back"),
        lambda: set_(json, "dumps", None),
        lambda: set_(json.JSONEncoder, "encode", None),
        lambda: set_(argparse.Namespace(), "__class__", dict),
        lambda: all_of(json),
    ],
)
def test_modules_frames_and_others_objects_are_not(look):
    with pytest.raises(AttributeError, match="A script"):
        look()
