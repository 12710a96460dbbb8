"""The login of a model: the same in every project that logs in alike, and without any secret."""

from __future__ import annotations

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.logins import identify_login
from ostler.executors.registry import ExecutorRegistry
from ostler.model.limits.limit import provider_name, window_for
from ostler.model.policy.model_config import Login, ModelConfig
from ostler.process.runner import DefaultCommandRunner

HOME = {"HOME": "/home/ada"}
CLAUDE = ModelConfig("sonnet", "claude", "sonnet")


def login(
    model: ModelConfig = CLAUDE,
    environ: dict[str, str] | None = None,
    project: str = "/p",
    **sections: ExecutorSettings,
) -> Login:
    executor = ExecutorRegistry().make_for(model, sections, DefaultCommandRunner())
    return identify_login(model, executor, sections, {**HOME, **(environ or {})}, project)


def test_the_default_login_has_the_name_of_the_agent() -> None:
    assert login() == Login("claude", "claude")
    assert login(project="/other") == login()


@pytest.mark.parametrize(
    "variable",
    [
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_USE_BEDROCK",
    ],
)
def test_variables_that_change_the_account_change_the_login(variable: str) -> None:
    other = login(environ={variable: "x"})
    assert other.key != "claude"
    assert other == login(environ={variable: "x"}, project="/other")
    assert other != login(environ={variable: "y"})


@pytest.mark.parametrize("variable", ["ANTHROPIC_MODEL", "OPENAI_API_KEY", "LANG"])
def test_other_variables_do_not(variable: str) -> None:
    """Neither options of the agent nor variables that the agent does not get."""
    assert login(environ={variable: "x"}) == login()


def test_the_variables_of_executor_and_model_count() -> None:
    section = ExecutorSettings(env={"CLAUDE_CONFIG_DIR": "/home/ada/.claude-work"})
    by_section = login(claude=section)
    by_model = login(ModelConfig("w", "claude", env={"CLAUDE_CONFIG_DIR": "/home/ada/.claude-work"}))
    assert by_section == by_model
    assert by_section.label == "claude (~/.claude-work)"


def test_an_executor_of_another_name_has_the_login_of_its_type() -> None:
    section = ExecutorSettings(type="claude")
    assert login(ModelConfig("m", "mine"), mine=section) == login()


def test_another_program_may_have_another_login() -> None:
    assert login(claude=ExecutorSettings(command="/opt/claude-work")).label == "claude (claude-work)"


def test_a_script_has_no_account() -> None:
    """What a script simulates in one project does not stop another."""
    model = ModelConfig("s", "scripted")
    assert login(model).key != login(model, project="/other").key


def test_no_secret_is_in_key_or_label() -> None:
    found = login(environ={"ANTHROPIC_API_KEY": "sk-ant-canary-1234567890"})
    assert "canary" not in found.key + found.label
    assert found.label.startswith("claude (ANTHROPIC_API_KEY ")


def test_the_window_of_a_model() -> None:
    """The account of the settings comes first; the type of the agent is shown without its marks."""
    model = ModelConfig("m", "claude", login=Login("claude@1234", "claude (x)"))
    assert provider_name(window_for(model)) == "claude"
    assert window_for(model).provider == "claude@1234"
    named = ModelConfig("m", "claude", account="work", login=model.login)
    assert (window_for(named).provider, window_for(named).account) == ("", "work")


def test_addresses_and_headers_show_no_secret() -> None:
    """An address may contain a password or a key, and a header is one."""
    environ = {
        "ANTHROPIC_BASE_URL": "http://ada:pa55w0rd@proxy.example:8080/v1?key=canary",
        "ANTHROPIC_CUSTOM_HEADERS": "x-auth: canary",
    }
    label = login(environ=environ).label
    assert label.startswith("claude (proxy.example:8080, ANTHROPIC_CUSTOM_HEADERS ")
    assert "canary" not in label and "pa55w0rd" not in label


def test_the_usual_directory_is_the_default_login() -> None:
    """However it is spelled."""
    for folder in ("/home/ada/.claude", "/home/ada/.claude/", "/home/ada/x/../.claude"):
        assert login(environ={"CLAUDE_CONFIG_DIR": folder}) == login()
    work = login(environ={"CLAUDE_CONFIG_DIR": "/home/ada/.claude-work"})
    assert work == login(environ={"CLAUDE_CONFIG_DIR": "/home/ada/.claude-work/"}) != login()


def test_another_home_directory_is_another_login() -> None:
    work = login(claude=ExecutorSettings(env={"HOME": "/home/work"}))
    assert work.label == "claude (/home/work)" and work != login()


@pytest.mark.parametrize("args", [("--profile", "work"), ("--profile=work",), ("-c", "model_provider=azure")])
def test_arguments_that_select_an_account_change_the_login(args: tuple[str, ...]) -> None:
    model = ModelConfig("gpt", "codex")
    assert login(model, codex=ExecutorSettings(args=args)) != login(model)
    assert login(model, codex=ExecutorSettings(args=("--verbose", "-c", "x=1"))) == login(model)
