"""The refs in a git directory that an agent wrote, read as data."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.git.private.ref_names import is_ref_name, parse_packed_refs, parse_ref, resolve_ref
from ostler.git.private.untrusted import read_untrusted, walk_untrusted

_MAX_REFS = 20_000
_MAX_DEPTH = 16
_MAX_REF_BYTES = 4096
_MAX_PACKED_BYTES = 64 << 20


class AgentRefs(Struct, frozen=True):
    """Refs with their object names, and HEAD."""

    refs: dict[str, str]
    head: str = ""  # `ref: NAME`, or a commit; empty if it is invalid

    @property
    def head_commit(self) -> str:
        """The commit of HEAD; empty on a branch without commits."""
        return resolve_ref(self.refs, self.head)


def read_agent_refs(git_dir: Path) -> AgentRefs:
    """Return what the directory contains; names and values that git would refuse are left out.

    Raises TooLarge for too many refs.
    """
    found = parse_packed_refs(read_untrusted(git_dir, "packed-refs", _MAX_PACKED_BYTES) or b"")
    for name in walk_untrusted(git_dir, "refs", _MAX_DEPTH, _MAX_REFS):
        if is_ref_name(name) and (value := parse_ref(read_untrusted(git_dir, name, _MAX_REF_BYTES) or b"")):
            found[name] = value
    head = parse_ref(read_untrusted(git_dir, "HEAD", _MAX_REF_BYTES) or b"")
    resolved = {name: resolve_ref(found, value) for name, value in found.items()}
    return AgentRefs({name: value for name, value in resolved.items() if value}, head)
