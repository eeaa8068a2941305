"""The hosts' stand-in for ssh: runs a command on another host, over the network between them.

    ssh [options] [user@]host command ...

It is not SSH: nothing is encrypted, and there are no users and keys, which hosts that one user has to himself do not
need. The rest is as with OpenSSH: the host is found by its name or address, the user's shell runs the command at
home, standard input and both outputs are passed on, and the exit status is the command's, or 255 where there is no
connection. Without a command, the shell reads its commands from standard input. Options are accepted, and all but -n,
-p and -o ServerAliveInterval are ignored. The variable SSH_OPTIONS has options that come first, in place of a file
~/.ssh/config.

This file runs by itself, without the course's packages, to start in milliseconds. sshd.py is the other side.
"""

import getopt
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator

PORT = 22
COMMAND, INPUT, OUTPUT, ERRORS, STATUS = range(5)  # streams of a connection: see sshd.py
PIECE = 65536  # bytes read at once
PATIENCE = 10  # seconds to wait for a connection; OpenSSH leaves that to the kernel, which takes minutes
FAILED = 255  # exit status where there is no connection
UNANSWERED = 3  # questions whether the other side is there; as OpenSSH's ServerAliveCountMax

_HEADER = struct.Struct("!BI")
_OPTIONS = "1246AaCfGgKkMNnqsTtVvXxYyb:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:"


def send(connection: socket.socket, stream: int, data: bytes) -> None:
    """Send a frame.

    Raises:
        OSError: the connection is lost.
    """
    connection.sendall(_HEADER.pack(stream, len(data)) + data)


def frames(connection: socket.socket) -> Iterator[tuple[int, bytes]]:
    """Receive frames, each a stream and data, until the connection ends or is lost."""
    with connection.makefile("rb") as file:
        try:
            while len(header := file.read(_HEADER.size)) == _HEADER.size:
                stream, length = _HEADER.unpack(header)
                yield stream, file.read(length)
        except OSError:
            return


def main(arguments: list[str]) -> int:
    """Run the command and return its exit status."""
    try:
        before, rest = getopt.getopt(os.environ.get("SSH_OPTIONS", "").split() + arguments, _OPTIONS)
        after, command = getopt.getopt(rest[1:], _OPTIONS)  # OpenSSH takes options there, too, and horovodrun uses it
    except getopt.GetoptError as error:
        return _fail(f"{error}.")
    if not rest:
        return _fail("usage: ssh [options] [user@]host command ...")
    given = before + after
    options = dict(given)
    host, port = rest[0].rpartition("@")[2], int(options.get("-p", PORT))
    try:
        connection = socket.create_connection((host, port), timeout=PATIENCE)
        _keep_alive(connection, [value for name, value in given if name == "-o"])
    except socket.gaierror:
        return _fail(f"There is no host {host}: it is not in /etc/hosts.")
    except OSError as error:
        return _fail(f"{host}, port {port}, cannot be reached: {error.strerror or error}.")
    connection.settimeout(None)
    send(connection, COMMAND, " ".join(command).encode())
    threading.Thread(target=_pass_input, args=[connection, "-n" in options], daemon=True).start()
    for stream, data in frames(connection):
        if stream == STATUS:
            return data[0]
        _write(1 if stream == OUTPUT else 2, data)
    return _fail(f"The connection to {host} was closed before the command ended.")


def _keep_alive(connection: socket.socket, settings: list[str]) -> None:
    """Have the kernel ask the other side whether it is there, after each interval of silence, and give up in time.

    OpenSSH asks by messages of its own, but closes the connection after three without an answer, too.
    """
    for setting in settings:
        name, _, value = setting.replace(" ", "=").partition("=")
        if name.lower() == "serveraliveinterval" and value.isdecimal() and int(value):
            interval = int(value)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, number in (
                (socket.TCP_KEEPIDLE, interval),
                (socket.TCP_KEEPINTVL, interval),
                (socket.TCP_KEEPCNT, UNANSWERED),
                (socket.TCP_USER_TIMEOUT, 1000 * interval * UNANSWERED),  # for what was sent and not acknowledged
            ):
                connection.setsockopt(socket.IPPROTO_TCP, option, number)


def _pass_input(connection: socket.socket, none: bool) -> None:
    """Send standard input, or its end at once, until it ends or the connection does."""
    data = b"" if none else os.read(0, PIECE)
    try:
        while data:
            send(connection, INPUT, data)
            data = os.read(0, PIECE)
        send(connection, INPUT, b"")
    except OSError:
        return


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _fail(reason: str) -> int:
    print(f"ssh: {reason}", file=sys.stderr)
    return FAILED


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # a thread may be waiting for standard input
