"""Attempts to use the kernel's interfaces. Numbers of system calls are those of x86_64."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import socket
import struct
import termios

from attempt import LIBC, Facts, attempt, call, open_for_writing, syscall

NEW_NAMESPACE, NEW_USER, NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000


@attempt("root")
def set_the_program_for_core_files(facts: Facts) -> None:
    open_for_writing("/proc/sys/kernel/core_pattern")


@attempt("machine")
def set_the_program_that_loads_modules(facts: Facts) -> None:
    open_for_writing("/proc/sys/kernel/modprobe")


@attempt("root")
def set_the_program_that_turns_off(facts: Facts) -> None:
    open_for_writing("/proc/sys/kernel/poweroff_cmd")


@attempt("machine")
def change_a_kernel_setting_in_sys(facts: Facts) -> None:
    open_for_writing("/sys/kernel/mm/transparent_hugepage/enabled")


@attempt("machine")
def trigger_sysrq(facts: Facts) -> None:
    open_for_writing("/proc/sysrq-trigger")


@attempt("root")
def set_the_host_name(facts: Facts) -> None:
    socket.sethostname(socket.gethostname())


@attempt("root")
def mount_a_file_system(facts: Facts) -> None:
    place = facts["scratch"] + "/mounted"
    os.makedirs(place, exist_ok=True)
    call("mount", b"none", place.encode(), b"tmpfs", 0, None)


@attempt("root")
def make_the_root_writable_again(facts: Facts) -> None:
    call("mount", b"none", b"/", None, 0x20 | 0x1000, None)


@attempt("root")
def unmount_proc_sys(facts: Facts) -> None:
    call("mount", b"/proc/sys", b"/proc/sys", None, 0x1000, None)
    call("umount2", b"/proc/sys", 2)


@attempt("root")
def mount_with_the_new_calls(facts: Facts) -> None:
    os.close(syscall(430, b"tmpfs", 0))  # fsopen


@attempt()
def copy_a_mount(facts: Facts) -> None:
    os.close(syscall(428, -100, b"/", 0))  # open_tree


@attempt("root")
def change_the_root(facts: Facts) -> None:
    call("chroot", b"/")


@attempt("root")
def unshare_mounts(facts: Facts) -> None:
    call("unshare", NEW_NAMESPACE)


@attempt("root")
def unshare_a_user_namespace(facts: Facts) -> None:
    call("unshare", NEW_USER)


@attempt("root")
def clone_with_a_namespace(facts: Facts) -> None:
    _clone(NEW_NETWORK)


@attempt("root")
def clone_with_a_user_namespace(facts: Facts) -> None:
    _clone(NEW_USER)


def _clone(flags: int) -> None:
    pid = syscall(56, flags | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attempt("root")
def clone3_with_a_namespace(facts: Facts) -> None:
    arguments = struct.pack("8Q", NEW_NETWORK, 0, 0, 0, 17, 0, 0, 0)
    pid = syscall(435, ctypes.create_string_buffer(arguments, 64), 64)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attempt("machine")
def enter_the_namespace_of_init(facts: Facts) -> None:
    descriptor = os.open("/proc/1/ns/uts", os.O_RDONLY)
    call("setns", descriptor, 0)


@attempt()
def trace_another_process(facts: Facts) -> None:
    """PTRACE_SEIZE of the parent, which is the probe itself."""
    syscall(101, 0x4206, os.getppid(), 0, 0)
    syscall(101, 0x4207, os.getppid(), 0, 0)  # PTRACE_INTERRUPT shows that it is traced


@attempt("root")
def trace_the_first_process(facts: Facts) -> None:
    syscall(101, 0x4206, 1 if facts["inside"] else os.getppid(), 0, 0)


@attempt("root")
def change_the_memory_of_the_first_process(facts: Facts) -> None:
    open_for_writing("/proc/1/mem" if facts["inside"] else f"/proc/{os.getppid()}/mem")


@attempt("root")
def take_a_descriptor_of_the_first_process(facts: Facts) -> None:
    pid = 1 if facts["inside"] else os.getppid()
    descriptor = syscall(434, pid, 0)  # pidfd_open
    os.close(syscall(438, descriptor, 0, 0))  # pidfd_getfd


@attempt()
def use_io_uring(facts: Facts) -> None:
    os.close(syscall(425, 1, ctypes.create_string_buffer(120)))


@attempt("root")
def use_bpf(facts: Facts) -> None:
    attributes = struct.pack("IIII", 2, 4, 4, 1) + bytes(104)  # an array of one entry
    os.close(syscall(321, 0, ctypes.create_string_buffer(attributes, 120), 120))


@attempt("root")
def use_performance_events(facts: Facts) -> None:
    attributes = struct.pack("IIQ", 1, 112, 0) + bytes(96)  # a software counter
    os.close(syscall(298, ctypes.create_string_buffer(attributes, 112), 0, -1, -1, 0))


@attempt()
def use_the_keyring(facts: Facts) -> None:
    syscall(250, 0, -3, 1)  # the id of the session keyring


@attempt("root")
def use_userfaultfd(facts: Facts) -> None:
    os.close(syscall(323, 0))


@attempt("root")
def open_a_file_by_its_handle(facts: Facts) -> None:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    number = ctypes.c_int()
    call("name_to_handle_at", -100, facts["scratch"].encode(), handle, ctypes.byref(number), 0)


@attempt("root")
def inject_terminal_input(facts: Facts) -> None:
    """Into a terminal of its own: with the host's terminal the characters would run there."""
    _open_own_terminal()
    fcntl.ioctl(0, termios.TIOCSTI, b"x")


@attempt()
def open_the_terminal_of_the_host(facts: Facts) -> None:
    if facts["inside"]:
        os.close(os.open("/dev/tty", os.O_RDWR))
    else:
        _open_own_terminal()


def _open_own_terminal() -> None:
    _, slave = os.openpty()
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    os.dup2(slave, 0)


@attempt()
def use_i386_system_calls(facts: Facts) -> None:
    """Mov eax, 20 (getpid of i386); int 0x80; ret."""
    if _run(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3") != os.getpid():
        raise OSError


@attempt("none")
def use_x32_system_calls(facts: Facts) -> None:
    syscall(0x40000000 + 39)


def _run(code: bytes) -> int:
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


@attempt("none")
def load_a_module(facts: Facts) -> None:
    syscall(175, b"", 0, b"")


@attempt("none")
def restart_the_machine(facts: Facts) -> None:
    syscall(169, 0xFEE1DEAD, 672274793, 0, 0)  # switches the reaction to Ctrl-Alt-Del off


@attempt("root")
def set_the_clock(facts: Facts) -> None:
    now = struct.pack("qq", *divmod(_read_clock(), 10**9))
    syscall(227, 0, ctypes.create_string_buffer(now, 16))


def _read_clock() -> int:
    import time

    return time.clock_gettime_ns(time.CLOCK_REALTIME)


@attempt("root")
def become_another_user(facts: Facts) -> None:
    os.setgroups([])
    os.setresgid(12345, 12345, 12345)
    os.setresuid(12345, 12345, 12345)


@attempt("root")
def gain_rights_from_a_setuid_program(facts: Facts) -> None:
    """no_new_privs is set: programs such as su and sudo run without rights."""
    if LIBC.prctl(39, 0, 0, 0, 0) != 0:
        raise PermissionError


@attempt("root")
def keep_a_capability(facts: Facts) -> None:
    """The bounding set alone gives nothing where no_new_privs is set."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":\t", 1) for line in status if line.startswith("Cap"))
    if not any(int(lines[one], 16) for one in ("CapEff", "CapPrm", "CapInh", "CapAmb")):
        raise PermissionError


@attempt("root")
def raise_the_own_limits(facts: Facts) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
