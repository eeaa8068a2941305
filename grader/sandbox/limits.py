"""What one process of a submission may use up; the supervisor and the pool limit all of them together.

System calls by which a process takes memory that no limit counts are forbidden, with the kernel's seccomp filters: see
seccomp(2) and, for the instructions, the kernel's Documentation/userspace-api/seccomp_filter.rst. Numbers are those of
<asm/unistd.h>.
"""

import ctypes
import errno
import platform
import resource
import struct

LIMITS = {
    resource.RLIMIT_AS: 6 * 2**30,  # bytes per process
    resource.RLIMIT_FSIZE: 64 * 2**20,  # bytes per file
    # Threads count too: TensorFlow starts some forty per rank, and more in each server of a cluster.
    resource.RLIMIT_NPROC: 1000,
    resource.RLIMIT_CORE: 0,
}

# By machine: its number in <linux/audit.h>, and those of memfd_create, memfd_secret and shmget.
FORBIDDEN = {
    "x86_64": (0xC000003E, (319, 447, 29)),
    "aarch64": (0xC00000B7, (279, 447, 194)),
}
OTHER_ABI = 0x40000000  # from this number on, calls on x86_64 are those of another interface

LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
NUMBER, MACHINE = 0, 4  # where they are in what a filter looks at
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def apply() -> None:
    """Limit this process, and those that it starts.

    Raises:
        OSError: the kernel refuses.
    """
    for limit, value in LIMITS.items():
        resource.setrlimit(limit, (value, value))
    _forbid_calls()


def _forbid_calls() -> None:
    """Forbid these calls, each of which then fails with EPERM, and that a process gains privileges."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    machine, numbers = FORBIDDEN.get(platform.machine(), (None, ()))
    if machine is None:
        return
    # Each jump says how many instructions to skip if it holds, and if not.
    program = [(LOAD, 0, 0, MACHINE), (IF_EQUAL, 0, len(numbers) + 3, machine), (LOAD, 0, 0, NUMBER)]
    program.append((IF_AT_LEAST, len(numbers) + 1, 0, OTHER_ABI))
    program += [(IF_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    filters = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(filters), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
