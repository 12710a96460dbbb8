"""A tool call of an ACP agent: its input, its paths, and whether it is allowed."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import asdict, replace

from ostler.executors.agent_json import EMPTY_OBJECT, build_input, decode_json, summarize_input
from ostler.model.call import Permissions

_FILE_TOOLS = frozenset({"read", "edit", "delete", "move", "search", "think"})


class _Location(Struct, frozen=True):
    path: str = ""


class _Text(Struct, frozen=True):
    text: str = ""


class _Content(Struct, frozen=True, rename="camel"):
    """A part of the output of a tool: a text, or a diff of one file."""

    type: str = ""
    content: _Text = _Text()
    path: str = ""
    old_text: str | None = None
    new_text: str = ""

    @property
    def edit(self) -> dict[str, str]:
        return {"path": self.path, "oldText": self.old_text or "", "newText": self.new_text}


class _Output(Struct, frozen=True):
    """The members of a raw output that hold text, in the order of preference."""

    output: str | None = None
    content: str | None = None
    stdout: str | None = None
    error: str | None = None


class _Input(Struct, frozen=True):
    file_path: str = ""
    path: str = ""


class ToolCall(Struct, frozen=True, rename="camel"):
    """One use of a tool; an update has only the members that changed."""

    tool_call_id: str = ""
    kind: str | None = None
    title: str | None = None
    status: str | None = None
    raw_input: Raw = Raw()
    locations: tuple[_Location, ...] | None = None
    content: tuple[_Content, ...] | None = None
    raw_output: Raw = Raw()

    @property
    def name(self) -> str:
        return self.kind or "tool"

    @property
    def summary(self) -> str:
        """The input in one line; empty until the agent sends it."""
        return summarize_input(self.raw_input)

    @property
    def is_finished(self) -> bool:
        return self.status in ("completed", "failed")

    @property
    def input(self) -> Raw:
        """The input, or the diffs of an agent that sends no input."""
        edits = [part.edit for part in self.content or () if part.type == "diff"]
        if bytes(self.raw_input) not in (b"", b"null", b"{}"):
            return self.raw_input
        return (
            build_input(**edits[0])
            if len(edits) == 1
            else build_input(edits=edits)
            if edits
            else EMPTY_OBJECT
        )

    @property
    def outcome(self) -> str:
        """The output as text."""
        texts = [part.content.text for part in self.content or () if part.content.text]
        return "\n".join(texts) or _raw_output_text(self.raw_output)

    @property
    def detail(self) -> str:
        return self.summary or self.title or ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths that the tool call names."""
        tool_input = decode_json(_INPUT, self.raw_input) or _Input()
        parts = (*(self.locations or ()), *(self.content or ()))
        return tuple(filter(None, (tool_input.file_path, tool_input.path, *(part.path for part in parts))))


class _PermissionOption(Struct, frozen=True, rename="camel"):
    option_id: str = ""
    kind: str = ""


class PermissionRequest(Struct, frozen=True, rename="camel"):
    """The request session/request_permission."""

    tool_call: ToolCall = ToolCall()
    options: tuple[_PermissionOption, ...] = ()

    def choose(self, *, allowed: bool) -> dict[str, object]:
        """Return the outcome: allow or reject once, or cancel when the agent does not offer that."""
        kind = "allow_once" if allowed else "reject_once"
        for option in self.options:
            if option.kind == kind:
                return {"outcome": {"outcome": "selected", "optionId": option.option_id}}
        return {"outcome": {"outcome": "cancelled"}}

    @property
    def can_be_allowed(self) -> bool:
        """Whether the agent offers to allow the tool once."""
        return any(option.kind == "allow_once" for option in self.options)


PERMISSION_REQUEST = Decoder(PermissionRequest)
_INPUT = Decoder(_Input)
_OUTPUT = Decoder(_Output)
_STRING = Decoder(str)
_NULL = Raw(b"null")


def _raw_output_text(output: Raw) -> str:
    if bytes(output).startswith(b'"'):
        return _STRING.decode(output)
    found = decode_json(_OUTPUT, output) or _Output()
    members: list[str | None] = [getattr(found, name) for name in _Output.__struct_fields__]
    return next(filter(None, members), "")


def merge_tool_call(call: ToolCall, news: ToolCall) -> ToolCall:
    """Return the call with the members of an update."""
    return replace(call, **{name: value for name, value in asdict(news).items() if value and value != _NULL})


def is_allowed(permissions: Permissions, tool: ToolCall, workspace: str) -> bool:
    """Return whether a tool is allowed; accept-edits allows tools on files of the workspace."""
    if permissions != "accept-edits":
        return permissions == "skip"
    return tool.kind in _FILE_TOOLS and all(_is_inside(path, workspace) for path in tool.paths)


def _is_inside(path: str, workspace: str) -> bool:
    root = os.path.realpath(workspace)
    try:
        return Path(os.path.realpath(Path(root, path))).is_relative_to(root)
    except ValueError:  # a null byte
        return False
