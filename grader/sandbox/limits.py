"""What one process of a submission may use up; the supervisor and the pool limit all of them together."""

import resource

LIMITS = {
    resource.RLIMIT_AS: 6 * 2**30,  # bytes per process
    resource.RLIMIT_FSIZE: 64 * 2**20,  # bytes per file
    # Threads count too: TensorFlow starts some forty per rank, and more in each server of a cluster.
    resource.RLIMIT_NPROC: 1000,
    resource.RLIMIT_CORE: 0,
}


def apply() -> None:
    """Limit this process, and those that it starts."""
    for limit, value in LIMITS.items():
        resource.setrlimit(limit, (value, value))
