"""The positive control: a gate that cannot fail is found, and asks a person."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from isolation import FakeIsolation
from ostler.engine.steps.gates.control import Outcome, classify
from ostler.errors import WarningCode
from ostler.model.event import GateDecided
from ostler.model.plan import Gate
from ostler.model.state import GateState
from ostler.store.gate_controls import Acceptance, ControlClass
from ostler.store.sqlite.store import SqliteStore

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
PYTHON = {
    "shop/__init__.py": "",
    "shop/price.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_price.py": "from shop.price import total\n\n\n"
    "def test_total():\n    assert total([1, 2]) == 3\n",
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "README.md": "# Shop\n",
    "check.sh": f"{PYTEST} || true\n",
    "Makefile": f"test:\n\t-{PYTEST}\n",
}
NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}\n',
    "price.js": "module.exports = (prices) => prices.reduce((a, b) => a + b, 0);\n",
    "price.test.js": "const total = require('./price');\n"
    "require('node:test')('total', () => require('node:assert').equal(total([1, 2]), 3));\n",
}


@pytest.fixture
def isolation(monkeypatch: pytest.MonkeyPatch) -> FakeIsolation:
    return FakeIsolation(monkeypatch)


def check(world: GateWorld, command: str, **gates: object) -> GateDecided:
    """Check the gate with its control, which other tests switch off."""
    return world.command(command, world.settings(**{"control": True, **gates}))


def control_of(event: GateDecided) -> str:
    assert event.check is not None
    return event.check.control


@pytest.mark.parametrize(
    ("syntax", "test", "empty", "expected"),
    [
        ("fail", "fail", "none", "tests the code"),
        ("fail", "pass", "none", "static only"),
        ("pass", "fail", "none", "wrong code"),
        ("fail", "none", "none", "fails when broken"),
        ("none", "fail", "none", "fails when broken"),
        ("pass", "pass", "fail", "narrow"),
        ("pass", "pass", "pass", "inert"),
        ("none", "none", "fail", "narrow"),
        ("none", "none", "pass", "inert"),
        ("pass", "none", "none", "inert"),
    ],
)
def test_each_combination_has_its_class(
    syntax: Outcome, test: Outcome, empty: Outcome, expected: ControlClass
) -> None:
    """The table of the design."""
    assert classify(syntax, test, empty) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"{sys.executable} -m unittest discover -s tests", "tests the code"),  # make test uses the first one
        (PYTEST, "tests the code"),
        (f"{PYTEST} --co", "static only"),
        ("grep -q Shop README.md", "narrow"),
        ("true", "inert"),
        (f"{PYTEST} | tail -1", "inert"),
        ("./check.sh", "inert"),
        ("make test", "inert"),
    ],
)
@pytest.mark.sampled(2)
def test_a_python_gate_is_classified(
    tmp_path: Path, isolation: FakeIsolation, command: str, expected: ControlClass
) -> None:
    """A gate that always passes has checked nothing; all others keep their verdict."""
    world = GateWorld(tmp_path, PYTHON)
    (world.root / "check.sh").chmod(0o755)
    world.commit = world.world.commit({"other.txt": "x\n"})
    world.state = replace(world.state, commit=world.commit, base=world.commit)
    event = check(world, command)
    assert control_of(event) == expected
    assert event.verdict == ("not_checked" if expected == "inert" else "pass")
    assert event.warnings == ((WarningCode.GATE_INERT,) if expected == "inert" else ())
    assert ("ostler gates accept test" in event.review) == (expected == "inert")
    assert world.leftovers() == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npm test --silent", "tests the code"),
        ("node --test || true", "inert"),
        ("node --check price.js", "static only"),
    ],
)
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node")
@pytest.mark.sampled(1)
def test_a_node_gate_is_classified(
    tmp_path: Path, isolation: FakeIsolation, command: str, expected: ControlClass
) -> None:
    """The same for JavaScript."""
    event = check(GateWorld(tmp_path, NODE), command)
    assert control_of(event) == expected


@pytest.mark.full
def test_code_from_elsewhere_is_noticed(tmp_path: Path, isolation: FakeIsolation) -> None:
    """Tests that import the project from another directory pass with broken sources (T1)."""
    elsewhere = tmp_path / "elsewhere"
    for name, text in PYTHON.items():
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text(text)
    pytest = Path(sys.executable).with_name("pytest")  # does not add the working directory to sys.path
    world = GateWorld(tmp_path / "own", {k: v for k, v in PYTHON.items() if k != "pyproject.toml"})
    event = check(world, f"PYTHONPATH={elsewhere} {pytest} -q --import-mode=importlib")
    assert (control_of(event), event.verdict) == ("wrong code", "not_checked")
    assert "syntax error in every source file" in event.review


@pytest.mark.full
def test_it_runs_once_and_without_a_network(tmp_path: Path, isolation: FakeIsolation) -> None:
    """The second pass uses the stored result; a changed lockfile or command needs another control."""
    world = GateWorld(tmp_path, PYTHON)
    check(world, PYTEST)
    offline = [name for name, network in isolation.runs if not network]
    assert offline == [
        "test-1.control-syntax-errors.log",
        "test-1.control-failing-tests.log",
        "test-1.control-unchanged.log",
    ]
    assert control_of(check(world, PYTEST)) == "tests the code"
    assert len(isolation.runs) == 5
    for files in ({"uv.lock": "version = 1\n"}, {"tests/conftest.py": "\n"}):
        world.commit = world.world.commit(files)
        world.state = replace(world.state, commit=world.commit, base=world.commit)
        before = len(isolation.runs)
        check(world, PYTEST)
        assert len(isolation.runs) == before + 4


def test_a_gate_that_needs_the_network_has_no_control(tmp_path: Path, isolation: FakeIsolation) -> None:
    """Its failures prove nothing, so the verdict stays."""
    event = check(GateWorld(tmp_path, PYTHON), 'test "$NETWORK" != off')
    assert control_of(event) == "not run (the command fails without a network)"
    assert (event.verdict, event.review) == ("pass", "")


def test_it_runs_only_inside_an_isolation(tmp_path: Path, isolation: FakeIsolation) -> None:
    """A command that is not isolated could be anything, such as a deployment."""
    isolation.name = "none"
    event = check(GateWorld(tmp_path, PYTHON), "true")
    assert control_of(event) == "not run (isolation none does not switch the network off)"
    assert event.verdict == "pass" and len(isolation.runs) == 1


def test_the_gate_before_publishing_has_none(tmp_path: Path, isolation: FakeIsolation) -> None:
    """It may be a deployment, so it runs once."""
    event = GateWorld(tmp_path, PYTHON).check(Gate("command", command="true"), phase="merge").event
    assert isinstance(event, GateDecided)
    assert control_of(event) == "not run (gates before publishing have none)"
    assert event.verdict == "pass" and len(isolation.runs) == 1


@pytest.mark.parametrize("settings", [{"control": False}, {"options": {"test": {"control": False}}}])
def test_it_can_be_switched_off(
    tmp_path: Path, isolation: FakeIsolation, settings: dict[str, object]
) -> None:
    """For all gates, or for one."""
    world = GateWorld(tmp_path, PYTHON)
    event = check(world, "true", **settings)
    assert (control_of(event), event.verdict, len(isolation.runs)) == ("not run (switched off)", "pass", 1)


def test_it_takes_no_longer_than_its_limit(
    tmp_path: Path, isolation: FakeIsolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control that takes too long has no result, and is repeated only with a longer limit."""
    monkeypatch.setattr("ostler.engine.steps.gates.control._MAX_SECONDS", 0.6)
    world = GateWorld(tmp_path, PYTHON)
    command = 'test "$NETWORK" != off || { test -e "$TMPDIR/quick" || sleep 30; }'
    for _ in range(2):
        event = check(world, command)
        assert (control_of(event), event.verdict) == ("not run (stopped at its limit of 1 s)", "pass")
    assert len([name for name, network in isolation.runs if not network]) == 1
    (world.temporary / "quick").touch()
    monkeypatch.setattr("ostler.engine.steps.gates.control._MAX_SECONDS", 60.0)
    assert control_of(check(world, command)) == "inert"
    assert control_of(check(world, command)) == "inert"


@pytest.mark.parametrize("command", ["kill -KILL $$", "sh -c 'kill -KILL $$'"])
def test_a_killed_control_has_no_result(tmp_path: Path, isolation: FakeIsolation, command: str) -> None:
    """It is no proof that the gate can fail, and the next gate tries again."""
    world = GateWorld(tmp_path, PYTHON)
    command = f'test "$NETWORK" != off || test -e "$TMPDIR/quiet" || {command}'
    assert control_of(check(world, command)) == "not run (killed by signal 9)"
    (world.temporary / "quiet").touch()
    assert control_of(check(world, command)) == "inert"


def test_a_person_can_accept_a_gate(tmp_path: Path, isolation: FakeIsolation) -> None:
    """The verdict then counts, and the record names the person; another command is not accepted."""
    world = GateWorld(tmp_path, PYTHON)
    assert check(world, "true").verdict == "not_checked"
    with SqliteStore(world.project.layout.database).open_gate_controls() as store:
        store.accept(Acceptance("test", "true", "ada", 1.0))
    event = check(world, "true")
    assert (event.verdict, control_of(event)) == ("pass", "inert, accepted by ada")
    assert check(world, "true ").verdict == "not_checked"


def test_an_approval_is_kept_while_the_command_passes(tmp_path: Path, isolation: FakeIsolation) -> None:
    """The command runs on the new commit without a second question, and rejects it if it fails there."""
    world = GateWorld(tmp_path, PYTHON)
    first = check(world, "test ! -e b.txt")
    before = GateState("overruled", "fine", first.sha, True, by="ada", original="not_checked")
    phase = replace(world.state.phases[1], gate=replace(before, check=first.check, type="command"))
    world.state = replace(world.state, phases=(world.state.phases[0], phase))
    world.commit = world.world.commit({"c.txt": "1"})
    kept = check(world, "test ! -e b.txt")
    assert (kept.verdict, kept.original, kept.by) == ("overruled", "not_checked", "ada")
    assert kept.sha == world.commit and kept.warnings == (WarningCode.GATE_INERT,) and not kept.review
    assert check(world, "test ! -e d.txt").review  # another command
    world.commit = world.world.commit({"b.txt": "1"})
    assert check(world, "test ! -e b.txt").verdict == "fail"


FULL = {
    "go": (
        {
            "go.mod": "module shop\n\ngo 1.20\n",
            "price.go": "package shop\n\nfunc Total(a, b int) int { return a + b }\n",
            "price_test.go": 'package shop\n\nimport "testing"\n\n'
            'func TestTotal(t *testing.T) {\n\tif Total(1, 2) != 3 {\n\t\tt.Fatal("no")\n\t}\n}\n',
        },
        "GOFLAGS=-mod=mod go test ./...",
    ),
    "cargo": (
        {
            "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn total(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n"
            "    #[test]\n    fn adds() {\n        assert_eq!(super::total(1, 2), 3);\n    }\n}\n",
        },
        "cargo test --offline -q",
    ),
    "make": (
        {
            "Makefile": "test: price\n\t./price\n\n"
            "price: price.c test_price.c\n\tcc -o price price.c test_price.c\n",
            "price.c": "int total(int a, int b) { return a + b; }\n",
            "test_price.c": "int total(int, int);\nint main(void) { return total(1, 2) != 3; }\n",
        },
        "make test",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("tool", FULL)
def test_other_languages_are_classified(tmp_path: Path, isolation: FakeIsolation, tool: str) -> None:
    """Go, Rust and C with make."""
    if shutil.which(tool) is None or (tool == "make" and shutil.which("cc") is None):
        pytest.skip(f"needs {tool}")
    files, command = FULL[tool]
    world = GateWorld(tmp_path, files)
    world.environ["HOME"] = str(Path("~" + world.environ.get("USER", "root")).expanduser())
    event = check(world, command, timeout_seconds=300)
    assert event.verdict == "pass", world.output(event)
    assert control_of(event) == ("fails when broken" if tool == "make" else "tests the code")
