"""The server side of the hosts' stand-in for ssh: runs a command for each connection.

It does not authenticate: the hosts' networks have no way in or out, and all processes on them are the same user's.

A connection starts with the command, as a frame of the stream COMMAND. Then frames go both ways: standard input comes
in, standard output and standard error go out, and last the exit status. A frame is the number of its stream, the
length of its data, and the data; a frame of INPUT without data is the end of standard input.
"""

import contextlib
import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from typing import IO, NoReturn

from course.hosts.ssh import COMMAND, ERRORS, OUTPUT, PIECE, PORT, STATUS, frames, send

PATIENCE = 10  # seconds until a client that has its exit status has closed the connection, or is lost


def start() -> None:
    """Listen on all interfaces of this host, and serve in a process of its own.

    Raises:
        OSError: it cannot listen.
    """
    server = _Server(("", PORT), _Session)
    if not os.fork():
        _serve(server)
    server.socket.close()


def _serve(server: "_Server") -> NoReturn:
    try:
        server.serve_forever()
    finally:
        os._exit(1)


class _Session(socketserver.BaseRequestHandler):
    """One connection, in a process of its own."""

    request: socket.socket

    def handle(self) -> None:
        """Run the command by the user's shell, at home."""
        received = frames(self.request)
        stream, command = next(received, (None, b""))
        if stream != COMMAND:
            return
        home, shell = os.environ.get("HOME", "/"), os.environ.get("SHELL", "/bin/sh")
        process = subprocess.Popen(
            [shell, "-c", command] if command else [shell],
            cwd=home if os.access(home, os.X_OK) else "/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert process.stdin and process.stdout and process.stderr
        feeding = threading.Thread(target=_feed, args=[received, process.stdin], daemon=True)
        feeding.start()
        sending = threading.Lock()
        relays = [
            threading.Thread(target=_relay, args=[pipe, stream, self.request, sending])
            for pipe, stream in ((process.stdout, OUTPUT), (process.stderr, ERRORS))
        ]
        for relay in relays:
            relay.start()
        for relay in relays:
            relay.join()
        status = process.wait()
        send(self.request, STATUS, bytes([status if status >= 0 else 128 - status]))
        self.request.shutdown(socket.SHUT_WR)
        feeding.join(PATIENCE)


class _Server(socketserver.ForkingTCPServer):
    allow_reuse_address = True
    max_children = 1000  # processes of sessions that run at the same time; the class's own is 40

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: a client that was killed is no error."""


def _feed(received: Iterator[tuple[int, bytes]], pipe: IO[bytes]) -> None:
    """Write standard input as it comes, until it ends or the command no longer reads it. Then await the other's end.

    When a connection is closed on which something is still to be read, the kernel drops what is still to be sent.
    """
    with pipe, contextlib.suppress(BrokenPipeError):
        for _, data in received:
            if not data:
                break
            while data:
                data = data[pipe.write(data) :]
    for _ in received:
        pass


def _relay(pipe: IO[bytes], stream: int, connection: socket.socket, sending: threading.Lock) -> None:
    """Send what the command prints, until it ends, or until the connection does: then the command's pipe breaks."""
    with pipe:
        try:
            while data := pipe.read(PIECE):
                with sending:
                    send(connection, stream, data)
        except OSError:
            return
