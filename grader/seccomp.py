"""The system calls that a worker may make; everything else fails with EPERM.

The filter is compiled on the trusted side, with libseccomp, and handed to workers as bytes: inside a sandbox the
library cannot be found any more.
"""

from __future__ import annotations

import ctypes
import errno
import tempfile

from grader import libc
from grader.errors import EnvironmentRefused

__all__ = ["compile_filter", "load"]

# What computing with torch, threads and files needs. Missing on purpose: fork, exec, sockets, signals to others,
# ptrace, mounts, namespaces, keys, bpf, io_uring, userfaultfd, shared memory, memfd, clocks that can be set.
ALLOWED = """
    read write readv writev pread64 pwrite64 lseek close close_range open openat access faccessat faccessat2
    fstat newfstatat stat lstat statx statfs fstatfs readlink readlinkat getdents64 getcwd chdir dup dup2 dup3
    mkdir mkdirat unlink unlinkat rmdir rename renameat renameat2 ftruncate truncate fsync fdatasync fadvise64 umask
    mmap munmap mprotect mremap madvise brk membarrier mincore
    rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack alarm setitimer getitimer pause
    futex set_robust_list get_robust_list rseq set_tid_address arch_prctl restart_syscall
    sched_yield sched_getaffinity getcpu gettid getpid getppid getpgid getpgrp getsid
    getuid geteuid getgid getegid getgroups getresuid getresgid
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage getrlimit getpriority
    poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 pipe pipe2
    sendto recvfrom sendmsg recvmsg shutdown uname sysinfo getrandom exit exit_group wait4
""".split()  # noqa: SIM905 - a hundred names read better without quotes
CLONE_THREAD = 0x10000  # linux/sched.h
# linux/fcntl.h: duplicates, flags and locks. Not F_SETOWN and F_SETSIG, with which a pipe sends signals to others.
FCNTL = (*range(8), 1030, 1031, 1032)
IOCTL = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: what files are asked
PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 15, 38, 22  # linux/prctl.h
SECCOMP_MODE_FILTER = 2
INSTRUCTION = 8  # bytes


def compile_filter() -> bytes:
    """The filter for this machine's kind of CPU. Raises EnvironmentRefused without libseccomp."""
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise EnvironmentRefused(
            f"the layer `seccomp` needs the library libseccomp and the package pyseccomp: {error}."
            " On Debian and Ubuntu: `apt install libseccomp2`; then `pip install 'finite-grader[instructor]'`"
        ) from None
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    for name in ALLOWED:
        rules.add_rule(seccomp.ALLOW, name)
    threads = seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD)
    rules.add_rule(seccomp.ALLOW, "clone", threads)  # threads yes, processes no
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")  # its flags are behind a pointer; libc then takes clone
    rules.add_rule(seccomp.ALLOW, "prlimit64", seccomp.Arg(2, seccomp.EQ, 0))  # ask, not set
    # AF_UNIX streams, as event loops need them; from one end of a datagram pair one can write to anybody's socket.
    rules.add_rule(
        seccomp.ALLOW, "socketpair", seccomp.Arg(0, seccomp.EQ, 1), seccomp.Arg(1, seccomp.MASKED_EQ, 0xF, 1)
    )
    rules.add_rule(seccomp.ALLOW, "prctl", seccomp.Arg(0, seccomp.EQ, PR_SET_NAME))
    for command in FCNTL:
        rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, command))
    for request in IOCTL:
        rules.add_rule(seccomp.ALLOW, "ioctl", seccomp.Arg(1, seccomp.EQ, request))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def load(program: bytes) -> None:
    """From here on this thread, and all that it starts, is under the filter. Raises OSError."""
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_ = _Program(len(program) // INSTRUCTION, ctypes.cast(buffer, ctypes.c_void_p))
    libc.call("seccomp", "prctl", PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0)
    mode = ctypes.c_ulong(SECCOMP_MODE_FILTER)
    libc.call("seccomp", "prctl", PR_SET_SECCOMP, mode, ctypes.byref(filter_), 0, 0)
