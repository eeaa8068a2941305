"""What the training sends: bytes as the kernel counts them, and exchanges as Horovod's timeline has them."""

import os
import re
from pathlib import Path


def received():
    """Return the bytes that this host has received over the data network."""
    return int(re.search(r"eth0:\s*(\d+)", Path("/proc/net/dev").read_text())[1])


def exchanges():
    """Return the number of tensors that were exchanged."""
    from course.figures import read_timeline

    try:
        return len(read_timeline(os.environ["HOROVOD_TIMELINE"]))
    except ValueError:  # without any exchange, Horovod leaves the file empty
        return 0
