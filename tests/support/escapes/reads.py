"""Attempts to read what a task must not see."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from attempt import Facts, attempt, find, read

SECRET = "canary-of-the-host"


@attempt()
def read_another_project(facts: Facts) -> None:
    find(facts["other"] + "/secret.txt", SECRET)


@attempt()
def read_the_ssh_key(facts: Facts) -> None:
    find(facts["home"] + "/.ssh/id_ed25519", SECRET)


@attempt()
def read_files_of_the_home_directory(facts: Facts) -> None:
    find(facts["home"] + "/notes.txt", SECRET)


@attempt()
def read_configuration_below_home(facts: Facts) -> None:
    find(facts["home"] + "/.config/gh/hosts.yml", SECRET)


@attempt("root")
def read_the_shadow_file(facts: Facts) -> None:
    read("/etc/shadow")


@attempt()
def read_the_tmp_of_the_host(facts: Facts) -> None:
    find(facts["tmp_file"], SECRET)


@attempt()
def read_the_token_in_git_config(facts: Facts) -> None:
    find(facts["root"] + "/.git/config", SECRET)


@attempt()
def read_untracked_files_of_the_checkout(facts: Facts) -> None:
    find(facts["root"] + "/.env", SECRET)


@attempt()
def read_the_journal(facts: Facts) -> None:
    if not read(facts["journal"]).startswith(b"SQLite"):
        raise LookupError


@attempt()
def list_the_files_of_tasks(facts: Facts) -> None:
    if not os.listdir(facts["tasks"]):
        raise LookupError


@attempt()
def read_a_worktree_of_another_task(facts: Facts) -> None:
    find(facts["other_worktree"] + "/work.txt", SECRET)


@attempt("machine")
def read_through_the_root_of_init(facts: Facts) -> None:
    find("/proc/1/root" + facts["other"] + "/secret.txt", SECRET)


@attempt()
def read_through_any_root(facts: Facts) -> None:
    _find_in_processes("root" + facts["other"] + "/secret.txt")


@attempt()
def read_through_any_working_directory(facts: Facts) -> None:
    _find_in_processes("cwd/secret.txt")


@attempt()
def read_the_environment_of_the_host(facts: Facts) -> None:
    _find_in_processes("environ", facts["canary_value"])


@attempt()
def read_the_command_lines_of_the_host(facts: Facts) -> None:
    _find_in_processes("cmdline", facts["canary_argument"])


def _find_in_processes(name: str, content: str = SECRET) -> None:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(pid) != os.getpid() and content.encode() in Path("/proc", pid, name).read_bytes():
                return
        except OSError:
            continue
    raise LookupError(name)


@attempt()
def find_a_secret_in_the_own_environment(facts: Facts) -> None:
    if not any(facts["canary_value"] in value for value in os.environ.values()):
        raise LookupError


@attempt("machine")
def read_the_memory_device(facts: Facts) -> None:
    read("/dev/mem")


@attempt("machine")
def read_a_block_device(facts: Facts) -> None:
    devices = os.listdir("/sys/class/block")
    for name in devices:
        if os.path.exists(f"/dev/{name}") and name.startswith(("vd", "sd", "nvme", "loop", "dm-", "xvd")):
            read(f"/dev/{name}")
            return
    raise LookupError


@attempt("machine")
def read_kernel_memory(facts: Facts) -> None:
    if not read("/proc/kcore"):
        raise LookupError


@attempt("machine")
def read_kernel_messages(facts: Facts) -> None:
    os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))


@attempt("machine")
def read_kernel_settings_in_sys(facts: Facts) -> None:
    os.listdir("/sys/kernel")


@attempt("machine")
def read_page_flags(facts: Facts) -> None:
    if not read("/proc/kpageflags"):
        raise LookupError


@attempt()
def use_the_ssh_agent(facts: Facts) -> None:
    _connect(facts["ssh_agent"])


@attempt()
def find_the_ssh_agent_in_a_variable(facts: Facts) -> None:
    _connect(os.environ["SSH_AUTH_SOCK"])


@attempt("machine")
def use_a_service_socket_in_run(facts: Facts) -> None:
    """The sockets of docker and dbus are below /run."""
    for folder, _, files in os.walk("/run"):
        for name in files:
            if Path(folder, name).is_socket():
                return
    raise LookupError


def _connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


@attempt()
def use_an_inherited_descriptor(facts: Facts) -> None:
    """Only the three streams are inherited; the list is from the start of the probe."""
    if not facts["descriptors"]:
        raise LookupError


@attempt()
def leave_through_a_directory_descriptor(facts: Facts) -> None:
    for name in os.listdir("/proc/self/fd"):
        try:
            find(f"/proc/self/fd/{name}/../../../../../../../../{facts['other']}/secret.txt", SECRET)
        except (OSError, LookupError):
            continue
        return
    find(f"{os.getcwd()}/../../../../../../../../{facts['other']}/secret.txt", SECRET)
