"""The resource meter: it counts what descendants compute and receive, and nothing of this process."""

import socket
import subprocess
import sys
import time

import pytest

from course.internal import meter

# Sends itself five million bytes, and is busy for half a second of its CPU.
BUSY = """
import socket, threading, time
listening = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listening.getsockname())
receiver, _ = listening.accept()
thread = threading.Thread(target=lambda: [receiver.recv(50_000, socket.MSG_WAITALL) for _ in range(100)])
thread.start()
sender.sendall(bytes(5_000_000))
thread.join()
while time.process_time() < 0.5:
    pass
time.sleep(0.5)
"""


def test_a_child_s_computing_and_receiving_is_counted():
    began = time.time()
    with meter.Meter() as counted:
        subprocess.run([sys.executable, "-c", BUSY], check=True)
    cpu, received = counted.used(began, time.time())
    assert received == pytest.approx(5_000_000, abs=2)  # the end of a connection counts as a byte
    assert cpu == pytest.approx(0.5, abs=0.2)


def test_this_process_is_left_out():
    with meter.Meter() as counted, socket.create_server(("127.0.0.1", 0)) as listening:
        began = time.time()
        with socket.create_connection(listening.getsockname()) as sender, listening.accept()[0] as receiver:
            sender.sendall(bytes(1000))
            receiver.recv(1000, socket.MSG_WAITALL)
            time.sleep(3 * meter.EVERY)
    assert counted.used(began, time.time())[1] == 0
