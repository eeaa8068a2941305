"""JupyterHub's settings for a class on one machine, as docs/hub.md describes it.

Every user has an account of the machine, is a member of one of two groups, and logs in with the account's password.
"""

import grp
from pathlib import Path

COURSE = Path(__file__).resolve().parents[2]  # the checkout that all users share
LEARNERS, INSTRUCTORS = "learners", "instructors"  # groups of the machine
MEMORY = 4 * 2**30  # bytes per process
THREADS = 2000  # per user, of all processes together; the judge's sandbox alone asks for 1,000

c = get_config()  # noqa: F821  traitlets puts it here

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # for a web server in front of it, which adds TLS
c.JupyterHub.concurrent_spawn_limit = 20  # servers that start at the same time: each takes a core for some seconds
c.PAMAuthenticator.allowed_groups = {LEARNERS, INSTRUCTORS}

# The limits hold for all that a user starts, and no user can raise them. JupyterHub's own mem_limit does nothing here.
limits = ["prlimit", f"--data={MEMORY}", f"--nproc={THREADS}", "--core=0"]
c.Spawner.cmd = [*limits, str(COURSE / "scripts" / "hub")]
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # seconds; the first start copies the course

IDLE = "--MappingKernelManager.cull_idle_timeout=3600"  # seconds; kernels that a browser still shows are kept


def choose_pages(spawner) -> None:
    """Show nbgrader's pages for instructors to them alone."""
    instructor = spawner.user.name in grp.getgrnam(INSTRUCTORS).gr_mem
    spawner.args = ["--instructor", IDLE] if instructor else [IDLE]


c.Spawner.pre_spawn_hook = choose_pages
