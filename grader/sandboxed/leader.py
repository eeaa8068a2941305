"""Let workers wait for the first one's server before they look for it: one that looks too early loses a second.

TensorFlow's processes try to reach each other once a second (fixed_reconnect_backoff_ms in its grpc_channel.cc).
Workers that start at the same time on few cores come too early more often than not.
"""

import contextlib
import socket
import time
from typing import Any

from tensorflow.core.protobuf import tensorflow_server_pb2
from tensorflow.python import pywrap_tfe

LOST = 1.0  # seconds: waiting for longer would save nothing


def await_leader() -> None:
    """Have each worker but the first wait for that one, before TensorFlow starts its own server."""
    enable = pywrap_tfe.TFE_EnableCollectiveOps

    def call(context: Any, definition: bytes) -> None:
        server = tensorflow_server_pb2.ServerDef.FromString(definition)
        if server.task_index:
            _wait_for(next(job.tasks[0] for job in server.cluster.job if job.name == server.job_name))
        enable(context, definition)

    pywrap_tfe.TFE_EnableCollectiveOps = call


def _wait_for(address: str) -> None:
    """Wait until something listens at an address, host:port, for LOST seconds at most."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + LOST
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=LOST):
            return
        time.sleep(0.005)
