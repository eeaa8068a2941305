"""A machine for a JupyterHub, in namespaces of its own, and the browsers of its users.

The machine has its own accounts, homes, exchange and processes; those of the real machine stay as they are. What it
shares with it is the network, so that a test reaches the hub.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import websocket

from course.steps import ROOT
from tests.checkout import Checkout

PASSWORD = "a-password"
PATIENCE = 400  # seconds for anything that a user waits for

# Runs in the namespaces, as root, with the machine's folder as its argument: what an administrator does by docs/hub.md.
SET_UP = """
set -euo pipefail
cp -a /etc "$1/etc"
for part in etc home usr/local/share; do mount --bind "$1/$part" "/$part"; done
mkdir -p -m 777 /usr/local/share/nbgrader/exchange
git config --system --add safe.directory "$1/course"
git config --system --add safe.directory "$1/course/.git"
groupadd learners
groupadd instructors
"""


class Machine:
    """A machine in which a hub can be started."""

    def __init__(self, folder: Path, users: dict[str, str]):
        """Make the machine's files in a folder that every user can enter.

        Args:
            folder: its path, on which nothing is mounted.
            users: their groups, by their names.
        """
        self.folder, self.users = folder, users
        for part in ("home", "usr/local/share", "state"):
            (folder / part).mkdir(parents=True)
        self.course = Checkout(folder).root.rename(folder / "course")
        (self.course / ".venv").symlink_to(sys.prefix)
        (self.course / ".tools").symlink_to(ROOT / ".tools")
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=self.course, check=True)
        self.publish("the course")
        self.log = folder / "hub.log"

    def publish(self, message: str) -> None:
        """Commit what has changed in the checkout that all users share."""
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@localhost"]
        for command in (["add", "--all"], [*identity, "commit", "--quiet", f"--message={message}"]):
            subprocess.run(["git", *command], cwd=self.course, check=True)

    @contextlib.contextmanager
    def hub(self) -> Iterator[str]:
        """Run the hub with the settings of docs/examples, and give its URL. All processes end with the context."""
        script = SET_UP + "".join(self._opened()) + "".join(self._accounts())
        script += 'source "$1/course/scripts/environment.sh"\ncd "$1/state"\nexec jupyterhub "${@:2}"\n'
        port, internal, proxy = _free_ports(3)
        options = [f"--config={self.course}/docs/examples/jupyterhub_config.py"]
        options += [f"--JupyterHub.bind_url=http://127.0.0.1:{port}", f"--JupyterHub.hub_port={internal}"]
        options += [f"--ConfigurableHTTPProxy.api_url=http://127.0.0.1:{proxy}"]
        namespaces = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
        command = [*namespaces, "bash", "-c", script, "hub", str(self.folder), *options]
        # The administrator's own settings do not reach the hub.
        environment = {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8"}
        with self.log.open("wb") as log, subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
            try:
                yield self._await(f"http://127.0.0.1:{port}", process)
            finally:
                process.send_signal(signal.SIGKILL)
                print(self.log.read_text())  # for the report of a test that fails

    def _await(self, url: str, process: subprocess.Popen) -> str:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(requests.ConnectionError):
                if _session().get(f"{url}/hub/health", timeout=PATIENCE).ok:
                    return url
            time.sleep(0.2)
        raise AssertionError(f"The hub does not answer:\n{self.log.read_text()}")

    def _accounts(self) -> Iterator[str]:
        for user, group in self.users.items():
            yield f"useradd --create-home --shell /bin/bash --groups {group} {user}\n"
            yield f"echo {user}:{PASSWORD} | chpasswd\n"

    def _opened(self) -> Iterator[str]:
        """Yield commands that let every user read the environment and its Python, wherever they are on this machine."""
        needed = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}
        closed = {folder for path in needed for folder in path.parents if not folder.stat().st_mode & 0o001}
        hidden = [path for path in sorted(needed) if closed & set(path.parents)]
        held = {path: f"{self.folder}/state/held-{number}" for number, path in enumerate(hidden)}
        for path, place in held.items():
            yield f"mkdir {place}\nmount --bind {shlex.quote(str(path))} {place}\n"
        for folder in sorted(closed):
            yield f"[ ! -d {folder} ] || mount -t tmpfs -o mode=755 tmpfs {folder}\n"
        for path, place in held.items():
            yield f"mkdir -p {shlex.quote(str(path))}\nmount --bind {place} {shlex.quote(str(path))}\n"


class Browser:
    """What the browser of a user does: it logs in, starts the user's server, and sends requests to it."""

    def __init__(self, hub: str, user: str):
        """Open the hub's page for a user, who is not logged in."""
        self.hub, self.user, self.session = hub, user, _session()
        self.server = f"{hub}/user/{user}"

    def log_in(self, password: str = PASSWORD) -> bool:
        """Log in, and return whether the hub accepts the password."""
        page = self.session.get(f"{self.hub}/hub/login")
        fields = {"username": self.user, "password": password, "_xsrf": self._token("/hub/")}
        done = self.session.post(page.url, data=fields, allow_redirects=False)
        return done.status_code == 302

    def start(self) -> None:
        """Start the user's server, wait until it is up, and open its first page."""
        self.session.get(f"{self.hub}/hub/spawn/{self.user}", allow_redirects=False).raise_for_status()
        progress = f"{self.hub}/hub/api/users/{self.user}/server/progress"
        with self.session.get(progress, params={"_xsrf": self._token("/hub/")}, stream=True, timeout=PATIENCE) as told:
            told.raise_for_status()
            events = [json.loads(line[5:]) for line in told.iter_lines() if line.startswith(b"data:")]
        assert events[-1].get("ready"), events
        self.session.get(f"{self.server}/lab").raise_for_status()

    def stop(self) -> None:
        """Stop the user's server, and wait until it is gone."""
        user = f"{self.hub}/hub/api/users/{self.user}"
        headers = {"X-XSRFToken": self._token("/hub/")}
        self.session.delete(f"{user}/server", headers=headers, timeout=PATIENCE).raise_for_status()
        deadline = time.monotonic() + PATIENCE
        while self.session.get(user).json()["servers"]:
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def get(self, path: str, server: str = "") -> requests.Response:
        """Get a page of the user's server, or of that of another one."""
        return self.session.get(f"{server or self.server}/{path}", timeout=PATIENCE)

    def post(self, path: str, method: str = "POST", **fields: Any) -> requests.Response:
        """Send fields to the user's server as JSON."""
        headers = {"X-XSRFToken": self._token(f"/user/{self.user}/")}
        url = f"{self.server}/{path}"
        return self.session.request(method, url, json=fields, headers=headers, timeout=PATIENCE)

    @contextlib.contextmanager
    def terminal(self) -> Iterator["Terminal"]:
        """Open a terminal of JupyterLab, and close it with the context."""
        name = self.post("api/terminals").json()["name"]
        url = f"{self.server}/terminals/websocket/{name}"
        cookies = requests.cookies.get_cookie_header(self.session.cookies, requests.Request("GET", url))
        url = url.replace("http", "ws", 1)
        opened = socket.create_connection(("127.0.0.1", urlsplit(url).port), PATIENCE)  # whatever proxy there is
        connected = websocket.create_connection(url, cookie=cookies, origin=self.hub, socket=opened)
        try:
            yield Terminal(connected)
        finally:
            connected.close()
            self.post(f"api/terminals/{name}", "DELETE")

    def run(self, command: str) -> str:
        """Run a command in a terminal of its own, and return what it prints."""
        with self.terminal() as terminal:
            return terminal.run(command)

    def _token(self, path: str) -> str:
        """Return the token against forged requests, which every page below a path sets as a cookie."""
        return next(each.value for each in self.session.cookies if each.name == "_xsrf" and each.path == path)


class Terminal:
    """A shell in a terminal of JupyterLab."""

    def __init__(self, connected: websocket.WebSocket):
        """Take a connection to a terminal."""
        self._connected = connected

    def run(self, command: str) -> str:
        """Run a command, and return what it prints."""
        # The terminal shows what is typed, too: only what is printed has each of these words in one piece.
        self.type(f"echo be''gin; {command}; echo e''nd")
        return self.wait_for(r"begin\r\n((?s:.*?))end\r\n")[1].replace("\r\n", "\n")

    def type(self, text: str) -> None:
        """Type a line."""
        self._connected.send(json.dumps(["stdin", f"{text}\n"]))

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until the terminal shows, from now on, what matches a regular expression."""
        seen = ""
        while not (found := re.search(pattern, seen)):
            kind, *content = json.loads(self._connected.recv())
            seen += content[0] if kind == "stdout" else ""
        return found


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # there may be a proxy, which does not reach this machine
    return session


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as sockets:
        opened = [sockets.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in opened]
