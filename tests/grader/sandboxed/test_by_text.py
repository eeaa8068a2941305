"""getattr, setattr and vars in scripts: what they find and change, and what they do not."""

import argparse
import json
import sys
import traceback
from pathlib import Path

import pytest

from grader.sandboxed import by_text
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
        lambda: get(argparse.ArgumentParser(), "parse_" + "args"),
        lambda: get(Path("a"), "hardlink" + "_to"),
    ],
)
def test_modules_frames_and_others_objects_are_not(look):
    with pytest.raises(AttributeError, match="A script"):
        look()


class Name(str):
    """A text that is another one where it is compared."""

    def __eq__(self, other):
        return False

    def __hash__(self):
        return 0


def test_a_name_that_is_no_plain_text_is_not_looked_up():
    for look in (lambda: get(argparse.Namespace(), Name("a"), 1), lambda: set_(argparse.Namespace(), Name("a"), 1)):
        with pytest.raises(AttributeError, match="something else than a text"):
            look()


def test_argparse_sets_attributes_of_arguments_alone(monkeypatch):
    monkeypatch.setattr(argparse, "setattr", setattr, raising=False)
    by_text.close()
    parser = argparse.ArgumentParser()
    action = parser.add_argument("--encode")
    assert parser.parse_args(["--encode", "x"]).encode == "x"
    assert parser.parse_known_args(["--other"])[1] == ["--other"]
    with pytest.raises(AttributeError, match="or sets one"):
        action(parser, type("Foreign", (), {}), print)


def run(code):
    """Run a script as the recorder does, and return its variables."""
    found = {"__name__": "__main__", by_text.ASKED: by_text.changeable}
    exec(compile(by_text.guarded(code), "script.py", "exec"), found)
    return found


def test_a_script_sets_attributes_of_its_own_classes_and_of_objects():
    code = "class Own:\n    count = 0\nown = Own()\nOwn.count += 1\nown.a, own.b = 1, 2\ndel own.a\n"
    found = run(code + "import argparse\nargs = argparse.Namespace()\nargs.c = 3\nfor args.d in [4]: pass")
    assert found["Own"].count == 1 and vars(found["own"]) == {"b": 2} and vars(found["args"]) == {"c": 3, "d": 4}


@pytest.mark.parametrize(
    "code",
    [
        "import json\nfor kind in [json.JSONEncoder]:\n    kind.encode = print",
        "import json\ndef change(module):\n    module.dumps = print\nchange(json)",
        "from pathlib import Path\nfor Path.rglob in [print]: pass",
        "import json\nwith open('/dev/null') as json.JSONEncoder.encode: pass",
        "import threading\nthreading.current_thread()._target = print",
        "import json\nclass Own:\n    def change(self):\n        self.encode = print\nOwn.change(json.JSONEncoder)",
        "import json\ndel [json][0].dumps",
    ],
)
def test_a_script_changes_no_other_class_or_module(code):
    with pytest.raises(AttributeError, match="A script replaces"):
        run(code)


def test_what_is_private_is_read_of_own_objects_alone():
    code = "class Own:\n    _own = 1\n    def look(self):\n        return self._own\nfound = Own().look()"
    assert run(code)["found"] == 1
    with pytest.raises(AttributeError, match="or reads _own"):
        run(code + "\nimport threading\n[Own][0].look(threading.current_thread())")


def test_a_class_that_a_library_derives_from_a_script_s_is_its_own():
    found = run("class Own:\n    def __init__(self):\n        self._seen = 0")
    derived = type("Own", (found["Own"],), {"__module__": "horovod._keras"})
    assert derived()._seen == 0


def test_a_script_silences_itself(monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    found = run("import os, sys\nsys.stdout = silent = open(os.devnull, 'w')")
    assert sys.stdout is found["silent"]
    found["silent"].close()


def test_an_error_is_on_the_line_of_the_script():
    with pytest.raises(AttributeError) as caught:
        run("import json\n\njson.dumps = print")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.lineno for frame in frames if frame.filename == "script.py"] == [3]
