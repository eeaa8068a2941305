"""What a script itself wrote to standard error, without the warnings and logs of libraries."""

import re
from typing import Any

from grader.terms.runs import Rank

# A line of a library's: of a warning's text or source, or of TensorFlow's log.
WARNING = re.compile(
    r"[^:]*:\d+: \w*Warning:|(WARNING|INFO|ERROR):(tensorflow|absl):|\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+: [IWEF] "
    r"|[IWEF]\d{4} |\[(\d|$)"  # Horovod writes the bracket by itself, and may be ended right after it
    # In the sandbox, where matplotlib looks for fonts and finds neither settings nor a list that it has made before.
    r"|Fontconfig (error|warning): |Matplotlib is building the font cache"
    # How records of TensorFlow's log continue, where another worker is gone.
    r'|Additional GRPC error information|:{"created":|The error could be from a previous operation\.'
)
DEPRECATED = "Instructions for updating:"  # a line in TensorFlow's warnings; the next one has the instructions


def own_errors(rank: Rank[Any]) -> str:
    """Return what the script itself wrote to standard error."""
    own, warned, above = [], False, ""
    for line in rank.stderr.splitlines():
        if line.strip() and not line[0].isspace():  # what is indented belongs to the line above
            warned = bool(WARNING.match(line)) or (warned and DEPRECATED in (line, above))
        above = line
        if line.strip() and not warned:
            own.append(line)
    return "\n".join(own)
