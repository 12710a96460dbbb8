"""Replaces one expression of one symbol in Python source, found on the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from mutants.table import Mutant

Range = tuple[int, int, int, int]  # first line and column, last line and column; columns count bytes


class NotApplicable(Exception):
    """The symbol or the expression does not occur exactly once; the table must be updated."""


def mutate_file(package: Path, mutant: Mutant) -> Path:
    """Apply the mutant to the package at this path and return the file that was changed."""
    path = file_of(package, mutant.module)
    path.write_text(mutate(path.read_text("utf-8"), mutant), "utf-8")
    return path


def file_of(package: Path, module: str) -> Path:
    """Return the source file of a dotted module name below the package directory."""
    parts = module.split(".")
    if parts[0] != package.name:
        raise NotApplicable(f"{module} is not a module of {package.name}")
    base = package.joinpath(*parts[1:])
    found = [path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()]
    if len(found) != 1:
        raise NotApplicable(f"there is no module {module}")
    return found[0]


def mutate(source: str, mutant: Mutant) -> str:
    """Return the source with the expression replaced; raises NotApplicable."""
    scope = _find_symbol(ast.parse(source), mutant)
    ranges = _matches(scope, mutant.expression)
    if len(ranges) != 1:
        message = f"{mutant.name}: {mutant.expression!r} occurs {len(ranges)} times in {mutant.symbol}"
        raise NotApplicable(f"{message}; update tests/mutants/table/")
    changed = _replace(source, ranges.pop(), mutant.replacement)
    if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
        raise NotApplicable(f"{mutant.name}: the replacement is the same as the expression")
    compile(changed, mutant.module, "exec")
    return changed


def _find_symbol(tree: ast.AST, mutant: Mutant) -> ast.AST:
    for name in filter(None, mutant.function.split(".")):
        found = [statement for statement in _statements(tree) if name in _names(statement)]
        if len(found) != 1:
            message = f"{mutant.name}: {mutant.symbol} is defined {len(found)} times"
            raise NotApplicable(f"{message}; update tests/mutants/table/")
        tree = found[0]
    return tree


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, also those in if, with and try, but not those of inner scopes."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            yield from _statements(child)


def _names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()


def _matches(scope: ast.AST, expression: str) -> set[Range]:
    """Return the places whose text, without regard to whitespace and quotes, is the expression."""
    wanted = _text(expression)
    nodes = (node for node in ast.walk(scope) if isinstance(node, ast.expr | ast.stmt))
    return {_range(node) for node in nodes if ast.unparse(node) == wanted}


def _text(expression: str) -> str:
    """Return the expression as ast.unparse writes it inside of a statement."""
    match ast.parse(expression).body:
        case [ast.Expr(value=value)]:
            return ast.unparse(value)
        case [statement]:
            return ast.unparse(statement)
        case _:
            raise NotApplicable(f"{expression!r} is not one expression or statement")


def _range(node: ast.expr | ast.stmt) -> Range:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _replace(source: str, place: Range, replacement: str) -> str:
    first, column, last, end = place
    lines = source.encode().splitlines(keepends=True)
    before = b"".join(lines[: first - 1]) + lines[first - 1][:column]
    after = lines[last - 1][end:] + b"".join(lines[last:])
    return (before + replacement.encode() + after).decode()
