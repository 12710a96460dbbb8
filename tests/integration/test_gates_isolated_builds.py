"""Command gates of Go, Rust, Java and make projects that name the user's checkout (T1); in make test-full."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

import pytest

from gate_world import GateWorld
from git_world import git

pytestmark = pytest.mark.full


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [one for one in programs if shutil.which(one) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def make_world(directory: Path, files: dict[str, str]) -> GateWorld:
    """Make a project; USER in its files is the path of the user's checkout."""
    user = str(directory / "project")
    return GateWorld(directory, {name: text.replace("USER", user) for name, text in files.items()})


def check_plant(world: GateWorld, command: str, file: str, broken: str) -> None:
    """The gate passes as the project is, and fails on a commit that breaks a file."""
    passed = world.command(command)
    assert passed.verdict == "pass", world.output(passed)
    (world.root / file).write_text(broken)
    git(world.root, "commit", "-q", "-am", "broken")
    world.commit = git(world.root, "rev-parse", "HEAD")
    git(world.root, "reset", "-q", "--hard", "HEAD~1")
    failed = world.command(command)
    assert failed.verdict == "fail", world.output(failed)
    assert failed.check is not None and failed.check.isolation == "bind-over" and failed.check.links
    assert git(world.root, "status", "--porcelain") == ""


@needs("make", "gcc")
def test_make_with_absolute_paths(tmp_path: Path) -> None:
    """The include path and a source are those of the commit."""
    files = {
        "Makefile": "test:\n\tgcc -IUSER/include -o check check.c USER/lib/sums.c && ./check\n",
        "include/sums.h": "int add(int a, int b);\n",
        "lib/sums.c": "int add(int a, int b) { return a + b; }\n",
        "check.c": "#include <sums.h>\nint main(void) { return add(1, 2) != 3; }\n",
        ".gitignore": "check\n.ostler/\n",
    }
    broken = "int add(int a, int b) { return a - b; }\n"
    check_plant(make_world(tmp_path, files), "make test", "lib/sums.c", broken)


RUST = {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n'
    '[dependencies]\nsums = { path = "USER/crates/sums" }\n[workspace]\nexclude = ["crates"]\n',
    "Cargo.lock": 'version = 3\n[[package]]\nname = "app"\nversion = "0.1.0"\ndependencies = ["sums"]\n'
    '[[package]]\nname = "sums"\nversion = "0.1.0"\n',
    "src/lib.rs": "#[test]\nfn adds() { assert_eq!(sums::add(1, 2), 3); }\n",
    "crates/sums/Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
    "crates/sums/src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n",
    ".gitignore": "target/\n.ostler/\n",
}
RUST_BROKEN = "pub fn add(a: i32, b: i32) -> i32 { a - b }\n"


@needs("cargo")
@pytest.mark.parametrize("shared", [False, True])
def test_rust_with_a_path_dependency(tmp_path: Path, shared: bool) -> None:
    """A path dependency is that of the commit; a target directory that builds share is not used."""
    world = make_world(tmp_path, RUST)
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # HOME is a temporary directory
    world.environ |= {"RUSTUP_HOME": str(home / ".rustup"), "CARGO_HOME": str(home / ".cargo")}
    if shared:
        own = tmp_path / "cargo"
        own.mkdir()
        (own / "config.toml").write_text(f'[build]\ntarget-dir = "{tmp_path}/shared"\n')
        world.environ["CARGO_HOME"] = str(own)
    check_plant(world, "cargo test --offline -q", "crates/sums/src/lib.rs", RUST_BROKEN)
    assert not (tmp_path / "shared").exists()


@needs("go")
def test_go_with_an_absolute_replace(tmp_path: Path) -> None:
    """The replaced module is that of the commit."""
    files = {
        "go.mod": "module app\ngo 1.18\nrequire sums v0.0.0\nreplace sums => USER/sums\n",
        "app_test.go": 'package app\nimport ("testing"; "sums")\n'
        'func TestAdd(t *testing.T) { if sums.Add(1, 2) != 3 { t.Fatal("wrong") } }\n',
        "sums/go.mod": "module sums\ngo 1.18\n",
        "sums/sums.go": "package sums\nfunc Add(a, b int) int { return a + b }\n",
    }
    broken = "package sums\nfunc Add(a, b int) int { return a - b }\n"
    check_plant(make_world(tmp_path, files), "GOFLAGS=-mod=mod go test ./...", "sums/sums.go", broken)


@needs("javac", "java", "make")
def test_java_with_an_absolute_source_path(tmp_path: Path) -> None:
    """The source path is that of the commit."""
    files = {
        "Makefile": "test:\n\tjavac -d out -sourcepath USER/lib Check.java && java -cp out Check\n",
        "lib/Sums.java": "public class Sums { static int add(int a, int b) { return a + b; } }\n",
        "Check.java": "public class Check { public static void main(String[] a) {\n"
        "  if (Sums.add(1, 2) != 3) System.exit(1); } }\n",
        ".gitignore": "out/\n.ostler/\n",
    }
    broken = "public class Sums { static int add(int a, int b) { return a - b; } }\n"
    check_plant(make_world(tmp_path, files), "make test", "lib/Sums.java", broken)
