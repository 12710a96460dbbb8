"""The preflight of a project: every problem at once, with its file and line, and no program started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from inspected_project import git, make_repository, setup, write
from ostler.errors import Problem
from ostler.process import tool
from ostler.project.inspection.inspect_project import (
    find_run_problems,
    find_settings_problems,
    inspect_project,
)
from ostler.project.inspection.phases import first_program


def lines(problems: list[Problem]) -> list[str]:
    return [f"{one.severity[0]} {one.text}" for one in problems]


def model(name: str, executor: str) -> str:
    return f"[[models]]\nname = '{name}'\nexecutor = {executor}\n"


def test_unknown_executors_have_their_lines(tmp_path: Path) -> None:
    """One line each, with a suggestion; a name of the settings is resolved by its type."""
    text = "[executors.mine]\ntype = 'command'\n[executors.odd]\ntype = 'comand'\n[executors.claud]\n"
    text += model("a", "'mine'") + model("b", "'gemni'") + model("c", '"q\\u001b[2J"')
    text += model("e", "'claude-code'") + "[agents]\nreviewer = 'codx'\n"
    assert lines(find_settings_problems(setup(tmp_path, text))) == [
        'e ostler.toml:11: models[1].executor: unknown executor "gemni"; did you mean gemini?',
        'e ostler.toml:14: models[2].executor: unknown executor "q\\u001b[2J"; run ostler executors',
        'e ostler.toml:19: agents.reviewer: unknown executor "codx"; did you mean codex?',
        'e ostler.toml:4: executors.odd.type: unknown executor "comand"; did you mean command?',
        'e ostler.toml:5: executors.claud: unknown executor "claud"; did you mean claude?'
        ' A program of your own needs type = "command"',
    ]


SETTINGS = [
    (
        '[run]\nexecutor = "claud"\n',
        'e ostler.toml:2: run.executor: unknown executor "claud"; did you mean claude?',
    ),
    (
        '[executors.wrapper]\ncommand = "./agent.sh"\n',
        'e ostler.toml:1: executors.wrapper: missing type; add type = "command" for a program of your own, '
        "or another of: ostler executors",
    ),
    (
        '[agents]\nreviwer = "claude"\n',
        'e ostler.toml:2: agents.reviwer: unknown role "reviwer"; did you mean reviewer?',
    ),
    (
        '[phases.options.test]\nrole = "zz"\n',
        'e ostler.toml:2: phases.options.test.role: unknown role "zz"; use one of architect, '
        "decomposer, implementer, planner, researcher, reviewer, or create .agents/roles/zz.md",
    ),
    (
        '[phases.options.test]\ndepends_on = ["spec"]\n[phases.options.spec]\ndepends_on = ["test"]\n',
        "e ostler.toml:2: phases.options.test.depends_on: dependency cycle: test -> spec -> test",
    ),
    (
        "[phases.plans]\nsmall = []\n",
        "e ostler.toml:2: phases.plans.small: no phase is listed; list phases, such as implement, test",
    ),
    (
        '[phases.plans]\nsmall = ["test", "test"]\n',
        "e ostler.toml:2: phases.plans.small: phase test is listed twice; list each phase once",
    ),
    (
        '[phases.plans]\nsmall = ["../x"]\n',
        "e ostler.toml:2: phases.plans.small: invalid phase name '../x'; "
        "use at most 40 letters, digits, - and _",
    ),
    (
        '[phases.plans]\nsmall = ["merge"]\n',
        "e ostler.toml:2: phases.plans.small: no phase can have the name merge; "
        "it is the gate before publishing; use another name",
    ),
    (
        '[gates.commands]\ntest = " "\n',
        "e ostler.toml:2: gates.commands.test: the command is empty; remove it, or write a command",
    ),
    (
        '[gates.phases]\ntest = "command"\n',
        "e ostler.toml:2: gates.phases.test: it has no command; set gates.commands.test",
    ),
    (
        '[gates]\ndefault = "command"\n',
        "e ostler.toml:2: gates.default: no phase has a command; set gates.commands.PHASE",
    ),
    (
        '[gates.weights]\nlarge = "command"\n',
        "e ostler.toml:2: gates.weights.large: no phase has a command; set gates.commands.PHASE",
    ),
    (
        '[gates.commands]\ntest = "x"\n[gates.phases]\ntest = "skip"\n',
        'w ostler.toml:2: gates.commands.test: it is not run, because gates.phases.test = "skip"',
    ),
    (
        "[budget]\ntask_usd = 5\nday_usd = 3\n",
        "w ostler.toml:3: budget.day_usd: 3 is less than budget.task_usd (5): no task can use it up",
    ),
    (
        '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\n\n[budget]\nday_usd = 3\n',
        "w ostler.toml:7: budget.day_usd: mine is not started while there is a budget: it reports neither "
        "tokens nor cost",
    ),
    (
        '[run]\nexecutor = "codex"\nmodel = "zebra"\n[budget]\nday_usd = 3\n',
        "w ostler.toml:5: budget.day_usd: zebra has no price, so the highest listed one is used; add "
        '[prices."zebra"]',
    ),
]


@pytest.mark.parametrize(("text", "line"), SETTINGS, ids=[line for _, line in SETTINGS])
def test_settings_that_contradict_each_other(tmp_path: Path, text: str, line: str) -> None:
    """Each of these was found by the first task that met it (finding T24)."""
    assert lines(find_settings_problems(setup(tmp_path, text))) == [line]


FILES = [
    (
        ".agents/prompts/test.md",
        "a\n{{TASK_TITEL}}\n",
        ":2: unknown variable {{TASK_TITEL}}; did you mean TASK_TITLE?",
    ),
    (".agents/prompts/test.md", " \n", ": the template is empty"),
    (".agents/roles/mine.md", "\n", ": the prompt of the role is empty"),
    (
        ".claude/settings.json",
        '{\n"permissions": {"deny": [}\n}',
        ":2: not valid JSON: Expecting value (column 26)",
    ),
]


@pytest.mark.parametrize(("name", "text", "line"), FILES)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, text: str, line: str) -> None:
    """Templates, roles and the tool rules of claude."""
    write(tmp_path, {name: text})
    [found] = find_run_problems(setup(tmp_path, ""), None)
    assert (found.severity, found.text) == ("error", f"{name}{line}")


def test_a_home_directory_that_no_shell_replaces_is_a_warning(tmp_path: Path) -> None:
    """The agent would create a directory named ~ and have no login in it."""
    text = "[executors.claude.env]\nA = '~/x'\nB = '/home/ada/x'\nC = 'x~/y'\n"
    text += model("a", "'claude'") + "env = { CLAUDE_CONFIG_DIR = '~/.claude-work' }\n"
    found = lines(find_settings_problems(setup(tmp_path, text)))
    assert found == [
        "w ostler.toml:2: executors.claude.env.A: ~ is not replaced in settings:"
        ' "~/x"; write the absolute path',
        "w ostler.toml:8: models[0].env.CLAUDE_CONFIG_DIR: ~ is not replaced in settings:"
        ' "~/.claude-work"; write the absolute path',
    ]


def test_rules_of_claude_are_a_warning_for_other_agents(tmp_path: Path) -> None:
    """They are not used then."""
    write(tmp_path, {".claude/settings.json": "{"})
    [found] = find_run_problems(setup(tmp_path, '[run]\nexecutor = "codex"\n'), None)
    assert found.severity == "warning"


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("pytest -q", "pytest"),
        ("CI=1 npm test", "npm"),
        ("test -f x", ""),
        ("./run.sh", ""),
        ("cd a && make", ""),
        ("exit 1", ""),
        ("! grep x", ""),
        ("$TOOL x", ""),
        ("a 'b", ""),
        ("", ""),
    ],
)
def test_the_program_of_a_command(command: str, program: str) -> None:
    """Only a plain name that is not a built-in of the shell counts."""
    assert first_program(command) == program


def test_programs_that_are_missing(tmp_path: Path) -> None:
    """A gate and a notification name their line; a program of the project is found."""
    write(tmp_path, {".venv/bin/own": ""})
    text = '[gates.commands]\ntest = "nowhere-1 -q"\nimplement = "own"\n[[notify]]\ncommand = ["nowhere-2"]\n'
    assert lines(find_run_problems(setup(tmp_path, text, {"PATH": "/nowhere"}), None)) == [
        "w ostler.toml:2: gates.commands.test: program not found on PATH: nowhere-1",
        "w ostler.toml:5: notify[0].command: program not found: nowhere-2; install it, or correct command",
    ]


def test_everything_is_found_in_one_pass(tmp_path: Path) -> None:
    """Also next to settings that are invalid."""
    write(
        tmp_path,
        {
            "ostler.toml": '[run]\njobs = 0\n[gates.commands]\ntests = "x"\n',
            ".agents/prompts/test.md": "{{X}}",
            ".agents/roles/mine.md": "",
        },
    )
    found = inspect_project(tmp_path, {"PATH": ""})
    assert [(one.file, one.line) for one in found] == [
        (".agents/prompts/test.md", 1),
        (".agents/roles/mine.md", 0),
        ("ostler.toml", 2),
        ("ostler.toml", 4),
    ]


def test_pipelines_and_task_files(tmp_path: Path) -> None:
    """Unknown keys, skills, executors and roles of files that a worker would start."""
    write(
        tmp_path,
        {
            ".agents/pipelines/a.yaml": "steps:\n  - skill: nope\n    executor: claud\n",
            ".agents/pipelines/b.yaml": "steps:\n  - skil: nope\n",
            ".agents/tasks/c.md": "---\ntitle: x\nrole: zz\n---\nDo it.\n",
        },
    )
    found = [one for one in inspect_project(tmp_path, {"PATH": ""}) if one.severity == "error"]
    assert [(one.file, one.line, one.message.split(";")[0]) for one in found] == [
        (".agents/pipelines/a.yaml", 2, "no skill nope in .agents/skills, .claude/skills"),
        (".agents/pipelines/a.yaml", 3, 'unknown executor "claud"'),
        (".agents/pipelines/b.yaml", 2, "unknown key 'skil'"),
        (".agents/tasks/c.md", 0, 'unknown role "zz"'),
    ]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


PULL = '[git]\non_complete = "pr"\n'


def publishing(root: Path, text: str, environ: Mapping[str, str] = {}) -> list[str]:
    write(root, {"ostler.toml": text})
    found = inspect_project(root, {"PATH": "/usr/bin:/bin", **environ})
    return lines([one for one in found if one.key.startswith("git.") or "lfs" in one.message])


def test_what_a_pull_request_needs(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote, gh, a login, and the fork."""
    assert publishing(repository, PULL) == [
        "w ostler.toml:2: git.on_complete: the repository has no remote: "
        "the branch stays here, without a pull request"
    ]
    git(repository, "remote", "add", "origin", "https://github.com/acme/app.git")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(tool, "_run_once", _refuse_gh(tool._run_once))
    fork, missing = publishing(repository, PULL + 'push_remote = "fork"\n')[::-1]
    assert fork.startswith("e ostler.toml:3: git.push_remote: there is no remote fork;")
    assert missing.startswith("e ostler.toml:2: git.on_complete: the GitHub CLI (gh) is not installed")


def _refuse_gh(run):
    """Git is found although PATH is empty."""

    def refusing(argv, env, *rest):
        if argv[0] == "gh":
            raise FileNotFoundError
        return run(argv, env | {"PATH": "/usr/bin:/bin"}, *rest)

    return refusing


def test_a_login_of_gh(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token or a stored login needs no program; otherwise gh is asked."""
    git(repository, "remote", "add", "origin", "git@github.com:acme/app.git")
    gh = tmp_path / "bin/gh"
    write(
        tmp_path,
        {"bin/gh": f"#!/bin/sh\necho $* >> {tmp_path}/asked\necho 'run: gh auth login' >&2\nexit 1\n"},
    )
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{gh.parent}:/usr/bin:/bin")
    home = {"HOME": str(tmp_path / "home")}
    assert publishing(repository, PULL, {"GH_TOKEN": "x", **home}) == []
    write(tmp_path, {"home/.config/gh/hosts.yml": "github.com:\n"})
    assert publishing(repository, PULL, home) == []
    assert not (tmp_path / "asked").exists()
    (tmp_path / "home/.config/gh/hosts.yml").unlink()
    [line] = publishing(repository, PULL, home)
    assert line.startswith("e ostler.toml:2: git.on_complete: GitHub rejected your login")
    assert (tmp_path / "asked").read_text() == "auth status\n"


def test_a_target_that_does_not_exist(repository: Path) -> None:
    """With the line that names it."""
    [line] = publishing(repository, '[git]\ntarget = "mian"\n')
    assert line.startswith("e ostler.toml:2: git.target: there is no branch or commit 'mian'")


def test_the_target_of_a_cluster_is_that_of_the_remote(repository: Path) -> None:
    """A clone has only its default branch."""
    settings = '[git]\ntarget = "develop"\n[engine]\nkind = "temporal"\naddress = "t.example.com:7233"\n'
    settings += '[store]\nurl = "postgresql://db.example.com/x"\n[blobs]\nurl = "s3://x"\n'
    [line] = publishing(repository, settings)
    assert "there is no branch or commit 'develop'" in line
    git(repository, "update-ref", "refs/remotes/origin/develop", "HEAD")
    assert publishing(repository, settings) == []


def test_lfs(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files under the filter cannot be committed without the program."""
    write(repository, {".gitattributes": "* text\n*.png filter=lfs -text\n"})
    monkeypatch.setattr("ostler.project.inspection.publishing.search_path", lambda: "/nowhere")
    [line] = publishing(repository, "")
    assert line.startswith("w .gitattributes:2: git-lfs is not installed")
