"""What a call lets in that no attribute shows: code in data, attributes by text, objects behind a copy."""

import ast
from collections.abc import Iterator

CODE_FLAGS = {"allow_pickle": False, "safe_mode": True}  # keywords with the value that lets no code in
# Functions that may be called with so many arguments, and no more, and not be handed on: further ones give them
# attributes to copy, or a dictionary in which they leave what they find behind an object.
LIMITED = {"functools.wraps": 1, "copy.deepcopy": 1}
PARSERS = {"parse_args": 1, "parse_known_args": 1}  # of argparse: the next argument is an object to set attributes of
STYLED = ("logging.",)  # modules whose classes and functions take a style, of which "{" reads attributes
STYLES = "%", "$"


def lets_in(call: ast.Call, paths: set[str]) -> Iterator[str]:
    """Yield what a call lets in.

    Args:
        call: in a script.
        paths: what is called, if it begins with something imported.
    """
    given = len(call.args) + len(call.keywords) + any(isinstance(each, ast.Starred) for each in call.args)
    for path in sorted(paths & LIMITED.keys()):
        if given != LIMITED[path]:
            yield f"calls {path} with {given} arguments"
    name = getattr(call.func, "attr", "")
    if name in PARSERS and (len(call.args) > PARSERS[name] or any(word.arg != "args" for word in call.keywords)):
        yield f"gives {name}() an object for the arguments"
    for word in call.keywords:
        value = word.value.value if isinstance(word.value, ast.Constant) else None
        if word.arg in CODE_FLAGS and value is not CODE_FLAGS[word.arg]:
            yield f"lets code in with {word.arg}"
        if word.arg == "style" and value not in STYLES and any(path.startswith(STYLED) for path in paths):
            yield "formats log records in a style that reads attributes"
    if "logging.Formatter" in paths and len(call.args) > 2:
        yield "formats log records in a style that reading does not follow"
