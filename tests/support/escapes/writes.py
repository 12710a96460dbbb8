"""Attempts to change what a task must not change. A file is opened for writing, and nothing is written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attempt import Facts, attempt, create, open_for_writing


@attempt()
def write_in_another_project(facts: Facts) -> None:
    create(facts["other"] + "/planted")


@attempt()
def change_the_users_checkout(facts: Facts) -> None:
    """The worktree is mounted over the checkout: the host checks that its file did not change."""
    Path(facts["root"], "README.md").write_text("changed")
    if facts["inside"]:
        raise LookupError


@attempt()
def move_the_users_main(facts: Facts) -> None:
    place = Path(facts["root"], ".git/refs/heads")
    (place / "planted").write_text(facts["commit"] + "\n")
    if facts["inside"]:
        raise LookupError  # the host checks that its repository has no such branch


@attempt()
def install_a_hook(facts: Facts) -> None:
    create(facts["root"] + "/.git/hooks/post-checkout")
    if facts["inside"]:
        raise LookupError  # the host checks its hooks


@attempt("root")
def write_in_usr(facts: Facts) -> None:
    create("/usr/lib/ostler-planted")
    os.unlink("/usr/lib/ostler-planted")


@attempt("root")
def write_in_etc(facts: Facts) -> None:
    create("/etc/ostler-planted")
    os.unlink("/etc/ostler-planted")


@attempt("root")
def change_the_users_of_the_system(facts: Facts) -> None:
    open_for_writing("/etc/passwd")


@attempt("root")
def change_the_interpreter(facts: Facts) -> None:
    open_for_writing(facts["interpreter_module"])


@attempt("root")
def change_the_package_of_ostler(facts: Facts) -> None:
    open_for_writing(facts["package"] + "/__init__.py")


@attempt()
def change_a_toolchain_below_home(facts: Facts) -> None:
    open_for_writing(facts["home"] + "/.local/bin/tool")


@attempt()
def replace_a_toolchain_below_home(facts: Facts) -> None:
    place = Path(facts["home"], ".local/bin")
    place.rename(place.with_name("gone"))
    place.with_name("gone").rename(place)


@attempt()
def write_in_the_real_home(facts: Facts) -> None:
    """The private home is writable: the host checks that the real one has no such file."""
    create(facts["home"] + "/.bashrc-planted")
    if facts["inside"]:
        raise LookupError


@attempt()
def write_in_the_tmp_of_the_host(facts: Facts) -> None:
    create(facts["tmp"] + "/planted")
    if facts["inside"] and not os.path.exists(facts["tmp_file"]):
        raise LookupError


@attempt("root")
def write_in_dev(facts: Facts) -> None:
    create("/dev/ostler-planted")
    os.unlink("/dev/ostler-planted")


@attempt("root")
def write_in_the_root_directory(facts: Facts) -> None:
    create("/ostler-planted")
    os.unlink("/ostler-planted")


@attempt("root")
def make_a_device(facts: Facts) -> None:
    path = facts["scratch"] + "/device"
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    os.close(os.open(path, os.O_RDONLY))
    os.unlink(path)


@attempt("root")
def give_a_file_to_another_user(facts: Facts) -> None:
    path = facts["scratch"] + "/given"
    create(path)
    os.chown(path, 12345, 12345)


@attempt()
def link_to_a_file_outside(facts: Facts) -> None:
    os.link(facts["other"] + "/secret.txt", facts["other"] + "/linked")


@attempt("root")
def write_to_any_kernel_file(facts: Facts) -> None:
    """Every file of /proc that is no process, opened for writing."""
    found: list[str] = []
    for folder, folders, files in os.walk("/proc"):
        folders[:] = [one for one in folders if folder != "/proc" or not (one.isdigit() or "self" in one)]
        for name in files:
            try:
                open_for_writing(f"{folder}/{name}")
            except OSError:
                continue
            found.append(f"{folder}/{name}")
    if not found:
        raise LookupError
    facts["found"] = found[:5]


@attempt("root")
def write_to_any_file_of_sys(facts: Facts) -> None:
    for folder, _, files in os.walk("/sys"):
        for name in files:
            try:
                open_for_writing(f"{folder}/{name}")
            except OSError:
                continue
            return
    raise LookupError


@attempt()
def replace_pinned_configuration(facts: Facts) -> None:
    """The host checks that a configuration of the base commit is unchanged in the worktree."""
    place = Path(facts["root"] if not facts["inside"] else os.getcwd(), ".claude")
    place.rename(place.with_name("moved"))
    place.mkdir()
    (place / "settings.json").write_text("{}")


@attempt()
def replace_the_pointer_to_the_git_directory(facts: Facts) -> None:
    place = Path(os.getcwd(), ".git") if facts["inside"] else Path(facts["scratch"], ".git")
    if not facts["inside"]:
        place.write_text("gitdir: /nowhere\n")
    place.rename(place.with_name("moved-git"))
    place.write_text("gitdir: /tmp/evil\n")
