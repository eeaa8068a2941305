"""Copy a wheel into a folder, without the folders of the machine that built it: repack.py WHEEL FOLDER.

Open MPI's compiler adds its own folder to the run path of what it builds. Here, that is a folder of uv's, which is gone
when the build ends; on another machine, anyone who can make a folder of that name could have programs load libraries.
"""

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

RUN_PATH = re.compile(rb"(\$ORIGIN[^:\0]*):[^\0]+")


def relative(library: bytes) -> bytes:
    """Return a library whose run path ends where its part that is relative to the library does."""
    return RUN_PATH.sub(lambda path: path[1].ljust(len(path[0]), b"\0"), library)


def main(wheel: Path, folder: Path) -> None:
    """Copy the wheel, with a RECORD of what it contains now."""
    record = []
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(folder / wheel.name, "w", zipfile.ZIP_DEFLATED) as new:
        for file in sorted(old.infolist(), key=lambda file: file.filename.endswith(".dist-info/RECORD")):
            content = old.read(file)
            if file.filename.endswith(".so"):
                content = relative(content)
            if file.filename.endswith(".dist-info/RECORD"):
                content = "\n".join([*record, f"{file.filename},,", ""]).encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{file.filename},sha256={digest},{len(content)}")
            new.writestr(file, content)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
