"""Plants mistakes in a commit, to see whether a gate notices them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ostler.engine.steps.gates.file_kinds import (
    get_suffix,
    is_manifest,
    is_source_file,
    is_test_configuration,
    is_test_file,
)
from ostler.git.commit.variant import TreeFile, read_blobs, write_blobs
from ostler.git.repository import Repository

Files = Mapping[str, TreeFile]

# No language of SOURCE_SUFFIXES accepts it.
_SYNTAX_ERROR = b")( ostler control: a syntax error, to check that the gate fails\n"
_PYTHON_TEST = '''

class TestOstlerControl(__import__("unittest").TestCase):
    """A test that fails."""

    def test_ostler_control(self) -> None:
        """Fail."""
        self.fail("ostler control")
'''
_PYTHON_FUNCTION = '''

def test_ostler_control() -> None:
    """Fail."""
    raise AssertionError("ostler control")
'''
_PYTHON_FUNCTIONS = re.compile(r"^(?:async )?def test", re.MULTILINE)
_JAVASCRIPT_TEST = '\nthrow new Error("ostler control");\n'
_JAVASCRIPT_CALL = re.compile(r"(?<![\w.])(test|it|t)\(\s*[\"'`]")
_JAVASCRIPT_FUNCTION = '\n;{name}("ostler control", () => {{ throw new Error("ostler control"); }});\n'
_GO_TEST = '\nfunc TestOstlerControl{number}(t *testing.T) {{ t.Fatal("ostler control") }}\n'
_RUST_TEST = '\n#[test]\nfn ostler_control() {\n    panic!("ostler control")\n}\n'
_RUST_MODULE = f"\n#[cfg(test)]\nmod ostler_control {{{_RUST_TEST}}}\n"
_JAVA_FAILURE = 'ostlerControl() { throw new AssertionError("ostler control"); }\n'
_JAVA_TESTS = {
    "org.junit.jupiter": f"@org.junit.jupiter.api.Test void {_JAVA_FAILURE}",
    "org.testng": f"@org.testng.annotations.Test public void {_JAVA_FAILURE}",
    "org.junit.Test": f"@org.junit.Test public void {_JAVA_FAILURE}",
    "org.junit.*": f"@org.junit.Test public void {_JAVA_FAILURE}",
    "junit.framework": f"public void test{_JAVA_FAILURE[0].upper()}{_JAVA_FAILURE[1:]}",
}
_JAVASCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
PLANTED = re.compile(r"ostler.?control", re.IGNORECASE)  # in the output of a planted test


def break_sources(repository: Repository, files: Files, scripts: frozenset[str]) -> dict[str, TreeFile]:
    """Return every source file with a syntax error; the scripts of the gate stay as they are."""
    sources = [name for name, file in files.items() if file.is_regular and is_source_file(name)]
    return _replace_all(repository, files, [name for name in sources if name not in scripts], _SYNTAX_ERROR)


def empty_files(repository: Repository, files: Files, scripts: frozenset[str]) -> dict[str, TreeFile]:
    """Return all files empty, except manifests and the scripts of the gate."""
    names = [name for name, file in files.items() if file.is_regular and not is_manifest(name)]
    return _replace_all(repository, files, [name for name in names if name not in scripts], b"")


def add_failing_tests(
    repository: Repository, files: Files, scripts: frozenset[str], alike: bool = False
) -> dict[str, TreeFile]:
    """Return the test files with one more test each, which fails; empty if no language is supported.

    `alike`: of the kind of the other tests in the file, because a runner can be disabled for one kind only.
    """
    planters = _PLANTERS | _ALIKE if alike else _PLANTERS
    names = [name for name, file in files.items() if file.is_regular and _may_have_tests(name)]
    contents = read_blobs(repository, (files[name].blob for name in names))
    planted: dict[str, bytes] = {}
    for number, name in enumerate(name for name in names if name not in scripts):
        text = contents.get(files[name].blob, b"").decode("utf-8", "surrogateescape")
        changed = planters[_language(name)](name, text, number)
        if changed:
            planted[name] = changed.encode("utf-8", "surrogateescape")
    blobs = write_blobs(repository, list(planted.values()))
    return {name: TreeFile(files[name].mode, blob) for name, blob in zip(planted, blobs, strict=True)}


def _replace_all(
    repository: Repository, files: Files, names: list[str], content: bytes
) -> dict[str, TreeFile]:
    if not names:
        return {}
    (blob,) = write_blobs(repository, [content])
    return {name: TreeFile(files[name].mode, blob) for name in names}


def _may_have_tests(name: str) -> bool:
    in_source = get_suffix(name) == ".rs"  # Rust has unit tests in its source files
    return (
        _language(name) in _PLANTERS and (in_source or is_test_file(name)) and not is_test_configuration(name)
    )


def _language(name: str) -> str:
    return ".js" if _JAVASCRIPT.search(name) else get_suffix(name)


def _plant_python(name: str, text: str, number: int) -> str:
    return "" if name.endswith("__init__.py") else text.rstrip("\n") + "\n" + _PYTHON_TEST


def _plant_python_alike(name: str, text: str, number: int) -> str:
    if _PYTHON_FUNCTIONS.search(text) is None or "unittest" in text:
        return _plant_python(name, text, number)
    return text.rstrip("\n") + "\n" + _PYTHON_FUNCTION


def _plant_javascript(name: str, text: str, number: int) -> str:
    return text + _JAVASCRIPT_TEST


def _plant_javascript_alike(name: str, text: str, number: int) -> str:
    called = _JAVASCRIPT_CALL.search(text)
    # It runs after the other tests: one that ends the process must not be noticed by the order alone.
    return (
        text + _JAVASCRIPT_FUNCTION.format(name=called[1])
        if called
        else _plant_javascript(name, text, number)
    )


def _plant_go(name: str, text: str, number: int) -> str:
    return text + _GO_TEST.format(number=number) if '"testing"' in text else ""


def _plant_rust(name: str, text: str, number: int) -> str:
    if is_test_file(name):
        return text + _RUST_TEST
    return text + _RUST_MODULE if "#[cfg(test)]" in text else ""


def _plant_java(name: str, text: str, number: int) -> str:
    test = next((test for framework, test in _JAVA_TESTS.items() if framework in text), "")
    before, brace, after = text.rpartition("}")
    return f"{before}    {test}{brace}{after}" if test and brace else ""


_PLANTERS: dict[str, Callable[[str, str, int], str]] = {
    ".py": _plant_python,
    ".js": _plant_javascript,
    ".go": _plant_go,
    ".rs": _plant_rust,
    ".java": _plant_java,
}
_ALIKE: dict[str, Callable[[str, str, int], str]] = {
    ".py": _plant_python_alike,
    ".js": _plant_javascript_alike,
}
