"""One interface to blobs in a directory, in S3 and in memory."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.blobs.failure import explain, is_missing

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore

_PARTS = ".parts/"
_PART = re.compile(r"(.+)\.parts/([0-9]{16})", re.DOTALL)  # name of the blob, and the offset
_PAGE = 1000
_MOST_READS = 5  # of a blob whose parts are merged at the same time
_BLOCK_BYTES = 8 << 20  # read at a time of a blob that is copied


class Blob(Struct, frozen=True):
    """A blob as a list shows it."""

    name: str
    size: int  # with what was appended
    modified: float  # seconds since 1970, by the clock of the store
    base: str  # another value: the beginning was written again, so what a reader has of it is outdated
    parts: int = 0  # appended pieces


class _Part(Struct, frozen=True):
    offset: int
    size: int
    key: str


class _Merged(Exception):
    """What was listed does not exist any more: its bytes are in another object now."""


class Blobs:
    """The blobs below one URL; can be used by any thread. All methods raise BlobsUnavailable.

    S3 cannot append. What is appended to NAME are objects of their own, NAME.parts/OFFSET; a blob is the
    object NAME, which may be missing, followed by the parts that begin where the bytes before them end.
    """

    def __init__(self, store: ObjectStore, place: str) -> None:
        self._store = store
        self.place = place  # its URL, for messages

    def put(self, name: str, data: bytes | Iterator[bytes]) -> None:
        """Create or replace a blob to which nothing was appended."""
        self._put(name, data)

    def put_once(self, name: str, data: bytes) -> bool:
        """Create a blob; return False, and write nothing, when it exists."""
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415  (needed with a blob store only)

        with self._explained():
            try:
                self._store.put(name, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def append(self, name: str, offset: int, data: bytes) -> None:
        """Append bytes to a blob of `offset` bytes; repeating it, also with more bytes, is allowed."""
        self._put(f"{name}{_PARTS}{offset:016d}", data)

    def merge(self, name: str, data: bytes | Iterator[bytes]) -> None:
        """Replace a blob and what was appended to it by one object, which begins with the same bytes."""
        parts = [part.key for part in self._list_parts(name)]
        self._put(name, data)
        self._delete_keys(parts)

    def read(self, name: str, offset: int = 0) -> bytes | None:
        """Return the bytes from an offset to the end; None if there is no such blob."""
        return b"".join(self.read_blocks(name, offset)) if self.exists(name) else None

    def exists(self, name: str) -> bool:
        # The parts first: S3 gives no reason when it refuses a HEAD request.
        return bool(self._list_parts(name)) or self._size(name) is not None

    def read_blocks(self, name: str, offset: int = 0) -> Generator[bytes]:
        """Yield the bytes from an offset to the end; none if there is no such blob."""
        for _ in range(_MOST_READS - 1):
            try:
                for block in self._read_once(name, offset):
                    yield block
                    offset += len(block)
            except _Merged:
                continue
            return
        try:
            yield from self._read_once(name, offset)
        except _Merged as error:
            raise explain(error, self.place) from error

    def _read_once(self, name: str, offset: int) -> Generator[bytes]:
        """Yield the bytes from an offset to the end; raise _Merged if another process merges the parts."""
        parts = self._list_parts(name)  # before the size, which then has what was merged meanwhile
        size = self._size(name) or 0
        while offset < size:
            block = self._read(name, offset, min(size, offset + _BLOCK_BYTES))
            yield block
            offset += len(block)
        end = size
        for part in parts:
            if part.offset > end:  # the piece before is missing: it could not be written
                return
            end = max(end, part.offset + part.size)
            if end > offset:
                yield self._read(part.key, offset - part.offset, part.size)
                offset = end

    def list(self, prefix: str = "") -> list[Blob]:
        """Return the blobs below a prefix, which is a whole path such as a/b, sorted by name."""
        found: dict[str, list[ObjectMeta]] = {}
        for meta in self._list(prefix):
            part = _PART.fullmatch(meta["path"])
            found.setdefault(part[1] if part else meta["path"], []).append(meta)
        return [_describe(name, metas) for name, metas in sorted(found.items())]

    def delete(self, names: Iterable[str]) -> None:
        """Delete blobs with their parts; missing ones are ignored."""
        for name in names:
            self._delete_keys([*(part.key for part in self._list_parts(name)), name])

    def delete_below(self, prefix: str) -> int:
        """Delete all blobs below a prefix; return how many objects that were."""
        keys = [meta["path"] for meta in self._list(prefix)]
        self._delete_keys(keys)
        return len(keys)

    def check(self) -> None:
        """Raise BlobsUnavailable if the store cannot be read."""
        with self._explained():
            next(iter(self._pages("")), None)

    def _put(self, key: str, data: bytes | Iterator[bytes]) -> None:
        with self._explained():
            self._store.put(key, data)

    def _read(self, key: str, start: int, end: int) -> bytes:
        with self._explained():
            try:
                return bytes(self._store.get_range(key, start=start, end=end))
            except FileNotFoundError as error:
                if is_missing(error):
                    raise _Merged(str(error)) from error
                raise

    def _size(self, name: str) -> int | None:
        with self._explained():
            try:
                return self._store.head(name)["size"]
            except FileNotFoundError as error:
                if not is_missing(error):
                    raise
        return None

    def _list_parts(self, name: str) -> list[_Part]:
        metas = self._list(f"{name}{_PARTS}")
        # Whoever can write to the bucket can put other objects there.
        metas = [meta for meta in metas if _PART.fullmatch(meta["path"])]
        found = [_Part(_offset(meta), meta["size"], meta["path"]) for meta in metas]
        return sorted(found, key=lambda part: part.offset)

    def _list(self, prefix: str) -> list[ObjectMeta]:
        with self._explained():
            return [meta for page in self._pages(prefix) for meta in page]

    def _pages(self, prefix: str) -> Iterable[Sequence[ObjectMeta]]:
        return self._store.list(prefix or None, chunk_size=_PAGE)  # pyright: ignore[reportUnknownMemberType]

    def _delete_keys(self, keys: list[str]) -> None:
        for start in range(0, len(keys), _PAGE):
            self._delete_page(keys[start : start + _PAGE])

    def _delete_page(self, keys: list[str]) -> None:
        with self._explained():
            try:
                self._store.delete(keys)
            except FileNotFoundError as error:
                if not is_missing(error):
                    raise
                self._delete_each(keys)

    def _delete_each(self, keys: list[str]) -> None:
        """Delete one after another: a directory stops at the first one that is missing."""
        for key in keys:
            try:
                self._store.delete(key)
            except FileNotFoundError as error:
                if not is_missing(error):
                    raise

    @contextmanager
    def _explained(self) -> Generator[None]:
        from obstore.exceptions import BaseError  # noqa: PLC0415  (needed with a blob store only)

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise explain(error, self.place) from error


def _describe(name: str, metas: list[ObjectMeta]) -> Blob:
    whole = next((meta for meta in metas if meta["path"] == name), None)
    parts = sorted((meta for meta in metas if meta is not whole), key=lambda meta: meta["path"])
    end = whole["size"] if whole else 0
    for part in parts:
        if _offset(part) > end:
            break
        end = max(end, _offset(part) + part["size"])
    modified = max(meta["last_modified"] for meta in metas).timestamp()
    base = (whole["e_tag"] or whole["last_modified"].isoformat()) if whole else ""
    return Blob(name, end, modified, base, len(parts))


def _offset(part: ObjectMeta) -> int:
    return int(part["path"].rpartition("/")[2])
