"""The changed files of a comparison, with their kinds and sizes."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from ostler.git.compare.blobs import FoundObjects, find_objects
from ostler.git.compare.deltas import (
    LINK_MODE,
    NO_MODE,
    SUBMODULE_MODE,
    Delta,
    format_name,
    list_deltas,
)
from ostler.git.repository import Repository
from ostler.views.diff.changes import ChangedFile, FileKind, FileStatus
from ostler.views.diff.generated import ATTRIBUTES, is_generated, list_attribute_directories

LONGEST_TEXT = 2 * 1024 * 1024
"""The limit of a text that is shown as a whole."""
_STATUSES: dict[str, FileStatus] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type_changed",
}
_MARKDOWN = (".md", ".markdown")
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_SVG = ".svg"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_SIZES = range(100, 1024)


class Comparison(Struct, frozen=True):
    """The files of a comparison, as they are shown and as git names them."""

    files: tuple[ChangedFile, ...]
    deltas: tuple[Delta, ...]

    def find(self, path: str) -> tuple[Delta, ...]:
        """Return the files with this name; two invalid names may look the same."""
        return tuple(delta for delta, file in zip(self.deltas, self.files, strict=True) if file.path == path)

    def has_blob(self, blob: str) -> bool:
        return any(blob in (file.old_blob, file.new_blob) for file in self.files)


@lru_cache(maxsize=32)
def compare(repository: Repository, left: str, right: str, base: str) -> Comparison:
    """Return what differs; `base` is the commit whose .gitattributes name generated files.

    It starts at most three processes. Raises GitError.
    """
    deltas = list_deltas(repository, left, right)
    blobs = [blob for delta in deltas for blob in _list_blobs(delta)]
    places = list_attribute_directories(format_name(delta.path) for delta in deltas)
    named = {f"{base}:{place + '/' if place else ''}{ATTRIBUTES}": place for place in places}
    found = find_objects(repository, blobs, named if deltas else ())
    attributes = {named[name]: text.decode("utf-8", "replace") for name, text in found.contents.items()}
    short = [blob for blob in blobs if found.sizes.get(blob, 0) in _LFS_SIZES]
    pointers = _find_pointers(find_objects(repository, contents=short))
    files = tuple(_describe(delta, found.sizes, pointers, attributes) for delta in deltas)
    return Comparison(files, deltas)


def is_markdown(path: str) -> bool:
    return path.lower().endswith(_MARKDOWN)


def _list_blobs(delta: Delta) -> list[str]:
    sides = ((delta.old_mode, delta.old_blob), (delta.new_mode, delta.new_blob))
    return [blob for mode, blob in sides if blob and mode != SUBMODULE_MODE]


def _find_pointers(found: FoundObjects) -> frozenset[str]:
    return frozenset(blob for blob, text in found.contents.items() if text.startswith(_LFS_POINTER))


def _describe(
    delta: Delta, sizes: dict[str, int], pointers: frozenset[str], attributes: dict[str, str]
) -> ChangedFile:
    path, kind = format_name(delta.path), _find_kind(delta, pointers)
    old_size, new_size = sizes.get(delta.old_blob), sizes.get(delta.new_blob)
    return ChangedFile(
        path=path,
        old_path=format_name(delta.old_path),
        status=_STATUSES.get(delta.letter, "modified"),
        old_mode=_known_mode(delta.old_mode),
        new_mode=_known_mode(delta.new_mode),
        old_blob=delta.old_blob,
        new_blob=delta.new_blob,
        additions=delta.additions or 0,
        deletions=delta.deletions or 0,
        kind=kind,
        generated=kind != "submodule" and is_generated(path, attributes),
        old_size=old_size,
        new_size=new_size,
        too_large=max(old_size or 0, new_size or 0) > LONGEST_TEXT,
    )


def _known_mode(mode: str) -> str:
    return "" if mode == NO_MODE else mode


def _find_kind(delta: Delta, pointers: frozenset[str]) -> FileKind:
    mode = delta.new_mode if delta.new_blob else delta.old_mode
    name = delta.path.lower()
    if mode == SUBMODULE_MODE:
        return "submodule"
    if mode == LINK_MODE:
        return "symlink"
    if pointers & {delta.old_blob, delta.new_blob}:
        return "lfs"
    if name.endswith(_SVG) or (delta.additions is None and name.endswith(_IMAGES)):
        return "image"
    if delta.additions is None:
        return "binary"
    return "markdown" if is_markdown(name) else "text"
