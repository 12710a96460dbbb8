"""Write the page of the public API from the docstrings and signatures of the package."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from types import ModuleType

import msgspec

import ostler
import ostler.compat
import ostler.executors

INTRO = """\
# Library

Names are imported on first use, so `import ostler` is cheap. The programs in `examples/` use this API.
"""


def api_page(header: str) -> str:
    """Return the whole page."""
    parts = [header, INTRO, "## ostler\n"]
    parts += [_entry(ostler, name) for name in ostler.__all__ if name != "__version__"]
    parts += [
        "## ostler.executors\n",
        "What an executor of your own needs: `examples/own_executor.py`.\n",
    ]
    parts += [_entry(ostler.executors, name) for name in ostler.executors.__all__]
    parts += [
        "## ostler.compat\n",
        "The names of the systems that Ostler replaces, with their signatures. Each system also has a module,"
        " such as `ostler.compat.sow`.\n",
        "| name | purpose |\n|---|---|",
        *(f"| `{name}` | {_first_line(getattr(ostler.compat, name))} |" for name in ostler.compat.__all__),
        "",
    ]
    return "\n".join(parts)


def _entry(module: ModuleType, name: str) -> str:
    found = getattr(module, name)
    if inspect.isfunction(found):
        return f"### {name}\n\n`{name}{_signature(found)}`: {_first_line(found)}\n"
    if not inspect.isclass(found):
        members = ", ".join(f"`{one.__name__}`" for one in typing.get_args(found))
        return f"### {name}\n\nA union of {members}.\n"
    parts = [f"### {name}\n", f"{inspect.getdoc(found)}\n"]
    if issubclass(found, msgspec.Struct):
        parts += ["| field | type | default |\n|---|---|---|", *_fields(found), ""]
    methods = [
        (key, value)
        for one in found.__mro__
        if one is found or (not issubclass(found, msgspec.Struct) and one.__module__.startswith("ostler."))
        for key, value in vars(one).items()
        if not key.startswith("_") and (inspect.isroutine(value) or isinstance(value, classmethod))
    ]
    for key, value in methods:
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        prefix = "async " if is_async else ""
        parts.append(f"- `{prefix}{key}{_signature(function)}`: {_first_line(function)}")
    return "\n".join([*parts, ""])


def _fields(struct: type[msgspec.Struct]) -> list[str]:
    rows: list[str] = []
    annotations = _read_annotations(struct)
    for field in msgspec.structs.fields(struct):
        annotation = annotations[field.name]
        known = field.default is not msgspec.NODEFAULT
        default = "required" if field.required else f"`{field.default!r}`" if known else ""
        rows.append(f"| `{field.name}` | `{annotation.replace('|', chr(92) + '|')}` | {default} |")
    return rows


def _read_annotations(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the annotations as they are written; a value is shown with its modules and constraints."""
    found: dict[str, str] = {}
    for one in reversed(struct.__mro__):
        if one.__module__.startswith("ostler."):
            (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
            assert isinstance(parsed, ast.ClassDef)
            annotated = (line for line in parsed.body if isinstance(line, ast.AnnAssign))
            found |= {ast.unparse(line.target): ast.unparse(line.annotation) for line in annotated}
    return found


def _signature(function: typing.Any) -> str:
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    # Annotations are strings and would be shown in quotes.
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature.replace(parameters=parameters)))


def _first_line(found: object) -> str:
    text = (inspect.getdoc(found) or "").split("\n")[0]
    if not text or isinstance(found, dict | str):
        return "A constant."
    return text.replace("|", "\\|")
