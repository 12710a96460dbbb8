"""The settings as a page shows them: value, source, meaning, and how each one is changed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, Literal, cast, get_args, get_origin

from msgspec import Struct, inspect, to_builtins

from ostler.config.descriptions import describe
from ostler.config.keys import find_kind
from ostler.config.load import Loaded
from ostler.config.secrets.hidden import HIDDEN
from ostler.config.settings import Settings
from ostler.config.show import shown_values
from ostler.config.source import DEFAULT, KeyPath, Layer, format_key, list_values

ControlType = Literal["boolean", "integer", "number", "choice", "choices", "text"]
_OUTSIDE = ("environment", "flag")


class Control(Struct, frozen=True):
    """What a form needs to change a setting."""

    type: ControlType
    least: float | None = None
    most: float | None = None
    above: float | None = None  # the value is greater
    choices: tuple[str, ...] = ()
    optional: bool = False  # it can be unset


class SettingView(Struct, frozen=True):
    key: str
    value: Any  # null: unset
    default: Any
    layer: Layer
    source: str  # ostler.toml:12, OSTLER_RUN__JOBS, --jobs, default
    meaning: str
    editable: bool
    control: Control | None  # null: not editable
    command: str  # changes it in a terminal


class SettingsFileView(Struct, frozen=True):
    file: Literal["project", "user"]
    name: str
    exists: bool


class SettingsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.settings/1"
    version: str  # of the files; PATCH needs it
    files: tuple[SettingsFileView, ...]
    settings: tuple[SettingView, ...]
    notice: str = ""  # what open tasks do not use yet


def view_settings(loaded: Loaded, is_editable: Callable[[KeyPath], bool]) -> tuple[SettingView, ...]:
    """Return one entry per value, in the order of the settings."""
    defaults = {format_key(path): value for path, value in list_values(Settings())}
    return tuple(_view(path, value, loaded, defaults, is_editable) for path, value in shown_values(loaded))


def _view(
    path: KeyPath,
    value: Any,
    loaded: Loaded,
    defaults: dict[str, Any],
    is_editable: Callable[[KeyPath], bool],
) -> SettingView:
    key = format_key(path)
    source = loaded.sources.get(key, DEFAULT)
    editable = is_editable(path) and source.layer not in _OUTSIDE
    return SettingView(
        key,
        to_builtins(value),
        to_builtins(defaults.get(key)),
        source.layer,
        source.location,
        describe(path),
        editable,
        _find_control(find_kind(path)) if editable else None,
        _find_command(key, value, source.layer),
    )


def _find_command(key: str, value: Any, layer: Layer) -> str:
    text = ",".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value
    known = isinstance(text, str | int | float) and text not in ("", HIDDEN)
    shown = shlex.quote(str(text).lower() if isinstance(text, bool) else str(text)) if known else "VALUE"
    return f"ostler config set {shlex.quote(key)} {shown}{' --user' if layer == 'user file' else ''}"


def _find_control(kind: Any) -> Control:
    if get_origin(kind) is Literal:
        return Control("choice", choices=get_args(kind))  # in the order of the type
    return _control(inspect.type_info(kind))


def _control(info: inspect.Type) -> Control:
    match info:
        case inspect.BoolType():
            return Control("boolean")
        case inspect.IntType(ge=least, le=most, gt=above):
            return Control("integer", least, most, above)
        case inspect.FloatType(ge=least, le=most, gt=above):
            return Control("number", least, most, above)
        case inspect.LiteralType(values=values):
            return Control("choice", choices=tuple(str(one) for one in values))
        case inspect.VarTupleType(item_type=inspect.LiteralType(values=values)):
            return Control("choices", choices=tuple(str(one) for one in values))
        case inspect.UnionType(types=types):
            inner = next(one for one in types if not isinstance(one, inspect.NoneType))
            found = _control(inner)
            return Control(found.type, found.least, found.most, found.above, found.choices, optional=True)
        case inspect.Metadata(type=inner):
            return _control(inner)
        case _:
            return Control("text")
