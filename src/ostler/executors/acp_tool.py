"""A tool of an ACP agent: what it would do, where, and whether it may."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import asdict, replace

from ostler.executors.tool_input import NOTHING, given, summary_of
from ostler.executors.wire import read
from ostler.model.call import Permissions

_EDITS = frozenset({"read", "edit", "delete", "move", "search", "think"})


class _Place(Struct, frozen=True):
    path: str = ""


class _Text(Struct, frozen=True):
    text: str = ""


class _Content(Struct, frozen=True, rename="camel"):
    """What a tool shows of its work: a text, or a diff of one file."""

    type: str = ""
    content: _Text = _Text()
    path: str = ""
    old_text: str | None = None
    new_text: str = ""

    @property
    def edit(self) -> dict[str, str]:
        return {"path": self.path, "oldText": self.old_text or "", "newText": self.new_text}


class _Output(Struct, frozen=True):
    """The members of a raw output that people read, the best one first."""

    output: str | None = None
    content: str | None = None
    stdout: str | None = None
    error: str | None = None


class _Input(Struct, frozen=True):
    file_path: str = ""
    path: str = ""


class Tool(Struct, frozen=True, rename="camel"):
    """One use of a tool; later news of it carry only what is new."""

    tool_call_id: str = ""
    kind: str | None = None
    title: str | None = None
    status: str | None = None
    raw_input: Raw = Raw()
    locations: tuple[_Place, ...] | None = None
    content: tuple[_Content, ...] | None = None
    raw_output: Raw = Raw()

    @property
    def name(self) -> str:
        return self.kind or "tool"

    @property
    def summary(self) -> str:
        """What it was asked to do, once the agent has said it."""
        return summary_of(self.raw_input)

    @property
    def over(self) -> bool:
        return self.status in ("completed", "failed")

    @property
    def given(self) -> Raw:
        """What it was asked; of an agent that only shows what it changes, that."""
        edits = [part.edit for part in self.content or () if part.type == "diff"]
        if bytes(self.raw_input) not in (b"", b"null", b"{}"):
            return self.raw_input
        return given(**edits[0]) if len(edits) == 1 else given(edits=edits) if edits else NOTHING

    @property
    def outcome(self) -> str:
        """What came of it, in words."""
        texts = [part.content.text for part in self.content or () if part.content.text]
        return "\n".join(texts) or _words(self.raw_output)

    @property
    def detail(self) -> str:
        return self.summary or self.title or ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Everything that it says it would touch."""
        named = read(_INPUT, self.raw_input) or _Input()
        places = (*(self.locations or ()), *(self.content or ()))
        return tuple(filter(None, (named.file_path, named.path, *(place.path for place in places))))


class _Choice(Struct, frozen=True, rename="camel"):
    option_id: str = ""
    kind: str = ""


class PermissionRequest(Struct, frozen=True, rename="camel"):
    tool_call: Tool = Tool()
    options: tuple[_Choice, ...] = ()

    def choose(self, *, allowed: bool) -> dict[str, object]:
        """The outcome for the agent. Only ever for this once; where that is not offered, nothing is."""
        wanted = "allow_once" if allowed else "reject_once"
        for option in self.options:
            if option.kind == wanted:
                return {"outcome": {"outcome": "selected", "optionId": option.option_id}}
        return {"outcome": {"outcome": "cancelled"}}

    @property
    def can_be_allowed(self) -> bool:
        return any(option.kind == "allow_once" for option in self.options)


PERMISSION_REQUEST = Decoder(PermissionRequest)
_INPUT = Decoder(_Input)
_OUTPUT = Decoder(_Output)
_STRING = Decoder(str)
_NULL = Raw(b"null")


def _words(output: Raw) -> str:
    if bytes(output).startswith(b'"'):
        return _STRING.decode(output)
    told = read(_OUTPUT, output) or _Output()
    members: list[str | None] = [getattr(told, name) for name in _Output.__struct_fields__]
    return next(filter(None, members), "")


def merge(known: Tool, news: Tool) -> Tool:
    """What is known of a tool after more was told about it."""
    return replace(known, **{name: value for name, value in asdict(news).items() if value and value != _NULL})


def may(permissions: Permissions, tool: Tool, workspace: str) -> bool:
    """Whether nobody needs to be asked: with accept-edits, what stays among the files of the workspace."""
    if permissions != "accept-edits":
        return permissions == "skip"
    return tool.kind in _EDITS and all(_is_inside(path, workspace) for path in tool.paths)


def _is_inside(path: str, workspace: str) -> bool:
    root = os.path.realpath(workspace)
    try:
        return Path(os.path.realpath(Path(root, path))).is_relative_to(root)
    except ValueError:  # a null byte
        return False
