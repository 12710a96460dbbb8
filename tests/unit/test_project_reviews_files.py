"""Every kind of changed file is listed with its kind, sizes and counts, from contents alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_world import World, git, make_world
from ostler.git.compare.patch import read_comparison_patch
from ostler.project.reviews.files import Comparison, compare
from ostler.views.diff.changes import ChangedFile

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def write(world: World, files: dict[str, bytes | str]) -> str:
    """Commit these files and return the commit."""
    for name, content in files.items():
        path = world.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(world.project, "add", "-A")
    git(world.project, "commit", "-q", "-m", "more")
    return git(world.project, "rev-parse", "HEAD")


def compared(world: World, left: str, right: str = "HEAD") -> Comparison:
    ends = [git(world.project, "rev-parse", one) for one in (left, right)]
    return compare(world.repository, ends[0], ends[1], ends[0])


def files_of(found: Comparison) -> dict[str, ChangedFile]:
    return {file.path: file for file in found.files}


def patch_of(world: World, left: str, *paths: str) -> str:
    return read_comparison_patch(world.repository, left, "HEAD", paths, 1 << 20).data.decode(
        "utf-8", "replace"
    )


def test_kinds_sizes_and_counts(world: World) -> None:
    """Text, Markdown, images, binary files, LFS pointers, links, modes and deletions."""
    base = write(
        world,
        {
            "kept.py": "one\n" * 30,
            "data.bin": b"\0\1" * 50,
            "model.bin": POINTER.format("a" * 64),
            "run.sh": "#!/bin/sh\n",
            "gone.txt": "gone\n",
            "picture.png": PNG,
            "link-to-be": "text\n",
        },
    )
    (world.project / "gone.txt").unlink()
    (world.project / "run.sh").chmod(0o755)
    (world.project / "link-to-be").unlink()
    (world.project / "link-to-be").symlink_to("kept.py")
    git(world.project, "mv", "kept.py", "moved.py")
    write(
        world,
        {
            "moved.py": "one\n" * 30 + "two",
            "data.bin": b"\0\2" * 60,
            "model.bin": POINTER.format("b" * 64),
            "picture.png": PNG + b"\0more",
            "drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>\n",
            "notes.md": "# Notes\r\n\r\ntext\r\n",
            "fake.png": "not an image\n",
            "empty.txt": "",
        },
    )
    found = files_of(compared(world, base))
    assert {
        path: (file.kind, file.status, file.additions, file.deletions) for path, file in found.items()
    } == {
        "moved.py": ("text", "renamed", 1, 0),
        "data.bin": ("binary", "modified", 0, 0),
        "model.bin": ("lfs", "modified", 1, 1),
        "picture.png": ("image", "modified", 0, 0),
        "drawing.svg": ("image", "added", 1, 0),
        "notes.md": ("markdown", "added", 3, 0),
        "fake.png": ("text", "added", 1, 0),
        "empty.txt": ("text", "added", 0, 0),
        "gone.txt": ("text", "deleted", 0, 1),
        "run.sh": ("text", "modified", 0, 0),
        "link-to-be": ("symlink", "type_changed", 1, 1),
    }
    moved, gone, shell = found["moved.py"], found["gone.txt"], found["run.sh"]
    assert (moved.old_path, moved.old_size, moved.new_size) == ("kept.py", 120, 123)
    assert (gone.old_size, gone.new_size, gone.new_blob, gone.new_mode) == (5, None, "", "")
    assert (shell.old_mode, shell.new_mode) == ("100644", "100755")
    assert (found["data.bin"].old_size, found["data.bin"].new_size) == (100, 120)


def test_a_submodule_has_no_size(world: World) -> None:
    """Its commits are not in this repository."""
    base = git(world.project, "rev-parse", "HEAD")
    entry = f"160000,{'1' * 40},vendor/lib"
    git(world.project, "update-index", "--add", "--cacheinfo", entry)
    git(world.project, "commit", "-q", "-m", "submodule")
    found = files_of(compared(world, base))["vendor/lib"]
    assert (found.kind, found.new_size, found.new_blob) == ("submodule", None, "1" * 40)


NAMES = [
    b"new\nline.txt",
    b'quo"te.txt',
    "stra\u00dfe \u65e5.txt".encode(),
    b"tab\there",
    b"-p",
    b":(glob)x",
    b"a b",
]


@pytest.mark.parametrize("name", [*NAMES, b"bad\xff.txt"])
def test_unusual_names(world: World, name: bytes) -> None:
    """A file with such a name is listed, and its patch can be read alone."""
    base = git(world.project, "rev-parse", "HEAD")
    path = os.path.join(os.fsencode(world.project), name)
    with open(path, "wb") as file:
        file.write(b"text\n")
    write(world, {"other.txt": "other\n"})
    found = compared(world, base)
    shown = name.decode("utf-8", "replace")
    assert files_of(found)[shown].new_size == 5
    (delta,) = found.find(shown)
    patch = patch_of(world, base, delta.path)
    assert "+text" in patch and "+other" not in patch


def test_attributes_of_the_work_hide_no_changes(world: World) -> None:
    """An agent's .gitattributes would make git print "Binary files differ"."""
    base = write(world, {"a.py": "one\n"})
    write(world, {"a.py": "two\n", ".gitattributes": "*.py -diff linguist-generated\n"})
    found = files_of(compared(world, base))["a.py"]
    assert (found.kind, found.additions, found.generated) == ("text", 1, False)
    assert "+two" in patch_of(world, base)


def test_the_base_names_generated_files(world: World) -> None:
    """By the .gitattributes of each directory, or by the name of the file."""
    base = write(
        world,
        {
            ".gitattributes": "*.gen.txt linguist-generated\nuv.lock linguist-generated=false\n",
            "sub/.gitattributes": "*.txt linguist-generated\nown.txt -linguist-generated\n",
        },
    )
    names = (
        "a.gen.txt",
        "sub/b.txt",
        "sub/own.txt",
        "uv.lock",
        "x/uv.lock",
        "yarn.lock",
        "b_pb2.py",
        "c.min.js",
    )
    write(world, dict.fromkeys((*names, "a.txt", "ui/__snapshots__/a.txt"), "x\n"))
    generated = {path for path, file in files_of(compared(world, base)).items() if file.generated}
    assert generated == {
        "a.gen.txt",
        "sub/b.txt",
        "yarn.lock",
        "b_pb2.py",
        "c.min.js",
        "ui/__snapshots__/a.txt",
    }


def test_large_files_and_long_patches_are_bounded(world: World) -> None:
    """A text above 2 MiB is marked, one above 16 MiB is not compared, and a patch is cut."""
    base = git(world.project, "rev-parse", "HEAD")
    line = "0123456789abcdef" * 4 + "\n"
    write(world, {"large.txt": line * 40_000, "huge.txt": line * 270_000, "small.txt": "x\n"})
    found = files_of(compared(world, base))
    assert (found["large.txt"].too_large, found["large.txt"].additions) == (True, 40_000)
    assert (found["huge.txt"].too_large, found["huge.txt"].kind) == (True, "binary")
    assert not found["small.txt"].too_large
    cut = read_comparison_patch(world.repository, base, "HEAD", (), 1000)
    assert (len(cut.data), cut.truncated) == (1000, True)


def test_lines_without_an_end_and_crlf(world: World) -> None:
    """The patch has them as they are."""
    base = write(world, {"a.txt": "one\r\ntwo"})
    write(world, {"a.txt": b"one\r\ntwo\r\nbad \xff byte\n"})
    patch = read_comparison_patch(world.repository, base, "HEAD", (), 1 << 20).data
    assert b"-two\n\\ No newline at end of file\n" in patch
    assert b"+two\r\n+bad \xff byte\n" in patch


def test_at_most_three_processes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files changed; a repeated request starts none."""
    base = git(world.project, "rev-parse", "HEAD")
    head = write(world, {f"d{n % 7}/f{n}.txt": f"{n}\n" * 60 for n in range(100)})
    repository, started = world.repository, list[str]()

    start = subprocess.Popen[bytes].__init__

    def count(process: subprocess.Popen[bytes], argv: list[str], **options: Any) -> None:
        started.append(" ".join(argv[:2]))
        start(process, argv, **options)

    compare(repository, head, head, head)  # reads the configuration of the repository, once
    started.clear()
    monkeypatch.setattr(subprocess.Popen, "__init__", count)
    for _ in range(2):
        assert len(compare(repository, base, head, base).files) == 100
        assert len(started) == 3, started
