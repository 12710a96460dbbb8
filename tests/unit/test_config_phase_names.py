"""An unknown phase name in the settings is an error with its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ostler.config.load import load_settings
from ostler.errors import SettingsInvalid


def mistakes(root: Path, text: str, environ: Mapping[str, str] = {}) -> list[str]:
    (root / "ostler.toml").write_text(text)
    try:
        load_settings(root, environ)
    except SettingsInvalid as error:
        return error.mistakes
    return []


WRONG = [
    (
        '[gates.commands]\ntests = "false"\n',
        '2: gates.commands.tests: no phase has this name; did you mean "test"?',
    ),
    (
        '[gates.commands]\nTest = "false"\n',
        '2: gates.commands.Test: no phase has this name; did you mean "test"?',
    ),
    (
        '[gates.phases]\nmerg = "human"\n',
        '2: gates.phases.merg: no phase has this name; did you mean "merge"?',
    ),
    (
        '[gates.criteria]\nvalidat = ["x"]\n',
        '2: gates.criteria.validat: no phase has this name; did you mean "validate"?',
    ),
    (
        "[phases.options.implemnt]\ncheckpoint = false\n",
        '1: phases.options.implemnt: no phase has this name; did you mean "implement"?',
    ),
    (
        '[phases.options.test]\ndepends_on = ["implement", "spce"]\n',
        '2: phases.options.test.depends_on: no phase has the name "spce"; did you mean "spec"?',
    ),
    (
        '[phases.retry_map]\ntst = "implement"\n',
        '2: phases.retry_map.tst: no phase has this name; did you mean "test"?',
    ),
    (
        '[phases.retry_map]\ntest = "implment"\n',
        '2: phases.retry_map.test: no phase has the name "implment"; did you mean "implement"?',
    ),
    (
        '[gates.commands]\nzebra = "x"\n',
        "2: gates.commands.zebra: no phase has this name; add it to [phases.plans], or create",
    ),
    ('[phases.retry_map]\nmerge = "implement"\n', "2: phases.retry_map.merge: no phase has this name"),
]


@pytest.mark.parametrize(("text", "line"), WRONG, ids=[text for text, _ in WRONG])
def test_an_unknown_phase_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    """A typo never disables a gate (finding T2)."""
    [found] = mistakes(tmp_path, text)
    assert found.startswith(f"ostler.toml:{line}")


RIGHT = [
    '[gates.commands]\ntest = "x"\nmerge = "x"\nwrite = "x"\nreview = "x"\ntest_unit = "x"\n',
    '[phases.plans]\nsmall = ["zebra"]\n[gates.commands]\nzebra = "x"\n',
    '[phases.options.zebra]\nmax_iterations = 3\n[gates.phases]\nzebra = "human"\n',
    '[gates.phases]\nlint = "human"\n',
]


@pytest.mark.parametrize("text", RIGHT)
def test_known_phases(tmp_path: Path, text: str) -> None:
    """Built in, in a plan, in the options, or with a template."""
    (tmp_path / ".agents/prompts").mkdir(parents=True)
    (tmp_path / ".agents/prompts/lint.md").write_text("Lint.")
    assert mistakes(tmp_path, text) == []


def test_a_variable_is_a_source_too(tmp_path: Path) -> None:
    """The error names the variable."""
    [line] = mistakes(tmp_path, "", {"OSTLER_GATES__COMMANDS__TESTS": "false"})
    assert line.startswith("OSTLER_GATES__COMMANDS__TESTS: gates.commands.tests: no phase has this name")


def test_all_mistakes_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Together with wrong values and unknown keys."""
    text = '[gates.commands]\ntests = "x"\n[run]\njobs = "two"\n'
    found = mistakes(tmp_path, text + "[phases.retry_map]\ntst = 3\n")
    assert [line.split(":")[1] for line in found] == ["2", "4", "6", "6"]


def test_the_problems_have_their_parts(tmp_path: Path) -> None:
    """File, line, key, message and severity, as --json prints them."""
    (tmp_path / "ostler.toml").write_text('[gates.commands]\ntests = "x"\n')
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(tmp_path, {})
    [problem] = caught.value.problems
    assert (problem.file, problem.line, problem.key, problem.severity) == (
        "ostler.toml",
        2,
        "gates.commands.tests",
        "error",
    )
