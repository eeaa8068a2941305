"""A batch script without Slurm: it runs on the first host, with stand-ins for srun and scontrol, and at once.

No job waits, has a time limit or is requeued here. It is for machines on which Slurm is not installed.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course.hosts import scripts
from course.hosts.cluster import Cluster
from course.hosts.layout import HEAD, HOSTFILE, PROGRAMS

_STAND_INS = {
    "srun": """\
#!/usr/bin/env bash
# A stand-in for srun: runs a command once on each host, whatever its options say.
while [[ $1 == --* ]]; do
    shift
done
status=0
for host in $COURSE_HOSTS; do
    ssh "$host" "$(printf '%q ' "$@")" < /dev/null || status=$?
done
exit "$status"
""",
    "scontrol": """\
#!/bin/sh
echo "scontrol $*: nothing happens, since Slurm is not installed"
""",
}


def run(cluster: Cluster, script: str | Path, program: Sequence[str], **options: Any) -> int:
    """Run a batch script as the job with number 1 on all hosts, and return its exit status.

    Args:
        cluster: the hosts.
        script: the batch script.
        program: the arguments for it.
        options: as for Cluster.run(); variables are added to those that Slurm would set.

    Raises:
        HostsError, TimeoutExpired: as Cluster.run() does.
    """
    for name, text in _STAND_INS.items():
        path = cluster.seen_from_outside(HEAD, PROGRAMS) / name
        path.write_text(text)
        path.chmod(0o755)
    variables = {
        "SLURM_JOB_ID": "1",
        "SLURM_NNODES": str(len(cluster.hosts)),
        "SLURM_NTASKS": str(sum(cluster.slots.values())),
        "COURSE_HOSTS": " ".join(cluster.hosts),
        "PRTE_MCA_prte_default_hostfile": str(HOSTFILE),
    }
    interpreter = scripts.interpreter(script)
    command = [interpreter, str(script), *program]
    print(f"{cluster.hosts[0]}$ {shlex.join([interpreter, Path(script).name, *program[:1], '...'])}")
    variables |= options.pop("variables", {})
    return cluster.run(command, cluster.hosts[0], variables=variables, **options).returncode
