"""The filter lets through what computing needs, and nothing that reaches another process or the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from grader.seccomp import ALLOWED, compile_filter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")

DANGEROUS = """
    fork vfork execve execveat clone clone3 kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open
    pidfd_send_signal pidfd_getfd ptrace process_vm_readv process_vm_writev kcmp socket connect bind listen accept
    accept4 unshare setns mount umount2 pivot_root chroot mount_setattr open_tree move_mount fsopen fsconfig fsmount
    open_by_handle_at name_to_handle_at bpf perf_event_open io_uring_setup io_uring_enter io_uring_register keyctl
    add_key request_key userfaultfd memfd_create memfd_secret shmget shmat msgget semget mq_open inotify_init1
    fanotify_init setuid setgid setresuid setresgid setgroups capset prctl seccomp setrlimit prlimit64 personality
    sched_setaffinity sched_setscheduler setpriority ioprio_set swapon reboot init_module finit_module kexec_load
    settimeofday clock_settime adjtimex sethostname syslog acct quotactl iopl ioperm modify_ldt symlink symlinkat
    link linkat mknod mknodat chmod fchmod fchmodat chown fchown lchown fchownat setxattr fallocate vmsplice splice tee
    process_madvise timer_create signalfd4 landlock_restrict_self
""".split()  # noqa: SIM905 - as in the module

PROBE = """
import ctypes, errno, fcntl, json, os, resource, signal, socket, sys, threading, time
from grader.seccomp import load
libc = ctypes.CDLL(None, use_errno=True)
TRIES = {
    "fork": os.fork,
    "posix_spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "execve": lambda: os.execv("/nonexistent", ["x"]),
    "signal to the parent": lambda: os.kill(os.getppid(), 0),
    "signal by thread": lambda: signal.pthread_kill(threading.get_ident(), 0),
    "network socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "unix socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "other socket pair": lambda: socket.socketpair(socket.AF_UNIX + 1, socket.SOCK_STREAM),
    "owner of a pipe": lambda: fcntl.fcntl(PIPE, fcntl.F_SETOWN, os.getppid()),
    "signal of a pipe": lambda: fcntl.fcntl(PIPE, fcntl.F_SETSIG, signal.SIGUSR1),
    "set a limit": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    "dumpable": lambda: prctl(4, 1),
    "link": lambda: os.symlink("a", "/nonexistent/b"),
    "file in memory": lambda: os.memfd_create("x"),
}
ALLOWED = {
    "thread": lambda: run(threading.Thread(target=int)),
    "pipe": lambda: PIPE,
    "socket pair": lambda: [one.close() for one in socket.socketpair()],
    "not blocking": lambda: os.set_blocking(PIPE, False),
    "limits": lambda: resource.getrlimit(resource.RLIMIT_AS),
    "clock": lambda: time.sleep(0.001),
    "name": lambda: prctl(15, b"name"),
    "read": lambda: open("/dev/null").read(),
    "random": lambda: os.urandom(8),
}
PIPE = os.pipe()[0]

def prctl(option, value):
    if libc.prctl(option, value, 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "prctl")

def run(thread):
    thread.start()
    thread.join()

def outcome(call):
    try:
        if call() == 0 and call is os.fork:
            os._exit(0)
        return 0
    except OSError as error:
        return error.errno
    except ValueError:  # what Python makes of EPERM from setrlimit
        return 1

if len(sys.argv) > 1:
    load(bytes.fromhex(sys.argv[1]))
told = {name: outcome(call) for name, call in (TRIES | ALLOWED).items()}
told["clone3"] = outcome(lambda: libc.syscall(435, None, 0) and (_ for _ in ()).throw(OSError(ctypes.get_errno(), "")))
sys.stdout.write(json.dumps(told))
sys.stdout.flush()
os._exit(0)
"""
HARMLESS = {
    "thread", "pipe", "socket pair", "not blocking", "limits", "clock", "name", "read", "random",
}  # fmt: skip


def probe(*arguments: str) -> dict[str, Any]:
    """What a process may do under the filter in ``arguments``, or under none: errno by attempt, 0 for success."""
    done = subprocess.run([sys.executable, "-c", PROBE, *arguments], capture_output=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_what_reaches_others_is_refused_and_what_computes_is_not() -> None:
    """Under the filter each attempt fails with EPERM; without it, none of them does."""
    free, filtered = probe(), probe(compile_filter().hex())

    assert {name for name, number in filtered.items() if number == 0} == HARMLESS
    assert {number for name, number in filtered.items() if name not in HARMLESS | {"clone3"}} == {1}
    assert {name for name, number in free.items() if number == 1} == set()


def test_clone3_does_not_exist() -> None:
    """ENOSYS, so that libc falls back to clone, whose flags a filter can see."""
    assert probe(compile_filter().hex())["clone3"] == 38


@pytest.mark.parametrize("name", DANGEROUS)
def test_the_list_holds_nothing_dangerous(name: str) -> None:
    """Not even by oversight: some are let through for certain arguments, and none as a whole."""
    assert name not in ALLOWED


def test_the_filter_is_the_same_every_time() -> None:
    """Whole instructions of eight bytes."""
    program = compile_filter()

    assert program == compile_filter()
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096  # what the kernel takes
