"""How each agent calls its model from a sandbox, and what its home directory has."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.registry import BUILT_IN, ExecutorRegistry
from ostler.executors.sandboxed.needs import PLACEHOLDER
from ostler.executors.sandboxed.prepare import PreparedAgent, prepare_agent
from ostler.model.call import AgentCall, CallResult, SandboxAccess
from ostler.sandbox.home.writer import write_private
from ostler.testing.mocks import MockCommandRunner

URL = "http://127.0.0.1:47821"
SECRET = "the-real-secret-0123456789"


class Machine:
    """A user's home directory and an agent that is prepared for a sandbox."""

    def __init__(self, place: Path) -> None:
        self.home, self.private = place / "user", place / "private"
        self.home.mkdir()
        self.program = place / "agent"
        self.program.write_text("#!/bin/sh\nexit 1\n")
        self.program.chmod(0o755)

    def put(self, path: str, content: object) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    def prepare(self, kind: str, *args: str, env: dict[str, str] | None = None, **more: Any) -> PreparedAgent:
        settings = ExecutorSettings(command=str(self.program), args=args, env=more.pop("own", {}))
        executor = ExecutorRegistry().get(kind)(kind, settings, MockCommandRunner())
        environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], **(env or {})}
        call = AgentCall("implementer", "p", env=environ, cwd="/work", model=more.pop("model", ""))
        prepared = prepare_agent(executor, call, self.private, more.pop("url", URL), **more)
        self.start = {**prepared.access.apply({**environ, **settings.env})}
        return prepared

    def holds_secret(self) -> bool:
        """Whether the variables or the files of the sandbox have the key."""
        files = [one.read_text() for one in self.private.rglob("*") if one.is_file()]
        return SECRET in json.dumps([files, self.start])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


GATEWAY = "https://gateway.example/api"
BEARER = {"authorization": f"Bearer {SECRET}"}


@pytest.mark.parametrize(
    ("kind", "env", "upstream", "headers"),
    [
        ("claude", {"ANTHROPIC_API_KEY": SECRET}, "https://api.anthropic.com", {"x-api-key": SECRET}),
        ("claude", {"ANTHROPIC_AUTH_TOKEN": SECRET, "ANTHROPIC_BASE_URL": GATEWAY}, GATEWAY, BEARER),
        ("claude", {"CLAUDE_CODE_OAUTH_TOKEN": SECRET}, "https://api.anthropic.com", BEARER),
        (
            "claude",
            {"ANTHROPIC_CUSTOM_HEADERS": f"X-Gate: {SECRET}"},
            "https://api.anthropic.com",
            {"x-gate": SECRET},
        ),
        ("claude-acp", {"ANTHROPIC_API_KEY": SECRET}, "https://api.anthropic.com", {"x-api-key": SECRET}),
        ("codex", {"CODEX_API_KEY": SECRET}, "https://api.openai.com/v1", BEARER),
        ("codex", {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": GATEWAY}, GATEWAY, BEARER),
        (
            "gemini",
            {"GEMINI_API_KEY": SECRET},
            "https://generativelanguage.googleapis.com",
            {"x-goog-api-key": SECRET},
        ),
        ("opencode", {"ANTHROPIC_API_KEY": SECRET}, "https://api.anthropic.com/v1", {"x-api-key": SECRET}),
        ("qwen", {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": GATEWAY}, GATEWAY, BEARER),
        (
            "copilot",
            {"COPILOT_PROVIDER_API_KEY": SECRET, "COPILOT_PROVIDER_BASE_URL": GATEWAY},
            GATEWAY,
            BEARER,
        ),
    ],
)
def test_the_proxy_has_the_key_of_a_variable(
    machine: Machine, kind: str, env: dict[str, str], upstream: str, headers: dict[str, str]
) -> None:
    prepared = machine.prepare(kind, env=env)
    assert prepared.route and prepared.route.upstream == upstream
    assert prepared.route.read_headers() == headers
    assert not machine.holds_secret() and prepared.warnings == ()
    assert URL in json.dumps([machine.start, [one.read_text() for one in machine.private.rglob("*.toml")]])


def test_a_key_of_the_settings_is_found_and_hidden(machine: Machine) -> None:
    """Variables of [executors.NAME] override those of the environment; other variables of secrets go too."""
    own = {"ANTHROPIC_API_KEY": SECRET}
    prepared = machine.prepare(
        "claude", env={"ANTHROPIC_API_KEY": "other", "ANTHROPIC_FOO_TOKEN": SECRET}, own=own
    )
    assert prepared.route and prepared.route.read_headers() == {"x-api-key": SECRET}
    assert machine.start["ANTHROPIC_API_KEY"] == PLACEHOLDER and not machine.holds_secret()


def test_claude_with_a_key_in_its_own_settings(machine: Machine) -> None:
    """The variables of settings.json win, as in claude itself, and are removed from the copy."""
    env = {"ANTHROPIC_AUTH_TOKEN": SECRET, "ANTHROPIC_BASE_URL": GATEWAY, "BASH_DEFAULT_TIMEOUT_MS": "5"}
    machine.put(".claude/settings.json", {"env": env, "hooks": {"Stop": []}, "model": "opus"})
    prepared = machine.prepare("claude")
    assert prepared.route and prepared.route.upstream == GATEWAY
    copied = json.loads((machine.private / ".claude/settings.json").read_text())
    assert copied == {"env": {"BASH_DEFAULT_TIMEOUT_MS": "5"}, "model": "opus"} and not machine.holds_secret()


def test_claude_with_a_cloud_gets_its_keys(machine: Machine) -> None:
    """Requests to a cloud are signed, so the proxy cannot add the keys; the person is warned."""
    prepared = machine.prepare(
        "claude", env={"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_SECRET_ACCESS_KEY": SECRET}
    )
    assert prepared.route is None and machine.holds_secret()
    assert "sandbox.allow_hosts" in prepared.warnings[0]


def test_a_login_of_claude(machine: Machine) -> None:
    """The token is read for each request, and the copy has a placeholder and no refresh token."""
    login = {
        "accessToken": "old",
        "refreshToken": SECRET,
        "expiresAt": (time.time() + 3600) * 1000,
        "scopes": ["a"],
    }
    file = machine.put("config/.credentials.json", {"claudeAiOauth": login})
    prepared = machine.prepare("claude", env={"CLAUDE_CONFIG_DIR": str(file.parent)})
    assert prepared.route and "CLAUDE_CONFIG_DIR" not in machine.start
    file.write_text(file.read_text().replace("old", "new"))
    assert prepared.route.read_headers() == {"authorization": "Bearer new"}
    inside = json.loads((machine.private / ".claude/.credentials.json").read_text())["claudeAiOauth"]
    assert (inside["accessToken"], inside["refreshToken"], inside["scopes"]) == (PLACEHOLDER, None, ["a"])
    assert inside["expiresAt"] > time.time() * 1000 and not machine.holds_secret()
    file.unlink()
    machine.prepare("claude", env={"ANTHROPIC_API_KEY": "x"})
    assert not (machine.private / ".claude/.credentials.json").exists()


RENEW = """#!/usr/bin/env python3
import json, pathlib, sys, os
assert sys.argv[1:] == ["auth", "status"] and os.listdir(".") == []
path = pathlib.Path(os.environ["HOME"], ".claude/.credentials.json")
login = json.loads(path.read_text())
login["claudeAiOauth"] |= {"accessToken": "renewed", "expiresAt": 4102444800000}
path.write_text(json.dumps(login))
"""


def test_the_program_of_the_agent_renews_a_login(machine: Machine) -> None:
    """Ostler writes nothing to the file of the user; without a renewal the login has failed."""
    login = {"accessToken": "old", "refreshToken": SECRET, "expiresAt": (time.time() - 1) * 1000}
    file = machine.put(".claude/.credentials.json", {"claudeAiOauth": login})
    before = file.read_bytes()
    with pytest.raises(OstlerError, match="the login of claude has ended") as caught:
        machine.prepare("claude")
    assert caught.value.code is Code.AUTH_FAILED and "claude auth login" in caught.value.hint
    assert file.read_bytes() == before
    machine.program = machine.program.with_name(
        "renews"
    )  # a program that failed is not started again at once
    machine.program.write_text(RENEW)
    machine.program.chmod(0o755)
    prepared = machine.prepare("claude")
    assert prepared.route and prepared.route.read_headers() == {"authorization": "Bearer renewed"}


def test_a_login_that_ends_during_an_attempt_is_renewed(machine: Machine) -> None:
    """The next request renews it, without a new attempt."""
    login = {"accessToken": "old", "expiresAt": (time.time() + 3600) * 1000}
    file = machine.put(".claude/.credentials.json", {"claudeAiOauth": login})
    machine.program.write_text(RENEW)
    prepared = machine.prepare("claude")
    assert prepared.route and prepared.route.read_headers() == {"authorization": "Bearer old"}
    file.write_text(json.dumps({"claudeAiOauth": {**login, "expiresAt": 1}}))
    assert prepared.route.read_headers() == {"authorization": "Bearer renewed"}


def test_a_helper_of_claude_that_prints_the_key(machine: Machine) -> None:
    """The command runs outside, once for several requests; its failure is that of the login."""
    count = machine.home / "count"
    command = f"echo x >> {count}; echo {SECRET}"
    machine.put(".claude/settings.json", {"apiKeyHelper": command})
    prepared = machine.prepare("claude")
    assert prepared.route and prepared.route.read_headers() == {"x-api-key": SECRET} | BEARER
    assert prepared.route.read_headers() and count.read_text() == "x\n"
    assert machine.start["ANTHROPIC_API_KEY"] == PLACEHOLDER and not machine.holds_secret()
    machine.put(".claude/settings.json", {"apiKeyHelper": "exit 3"})
    prepared = machine.prepare("claude")
    with pytest.raises(OstlerError, match="apiKeyHelper failed with 3"):
        assert prepared.route and prepared.route.read_headers()


def test_codex_with_a_provider_of_the_settings(machine: Machine) -> None:
    """The copy has the provider of the proxy alone; notify programs and MCP servers are left out."""
    provider = f'[model_providers.mine]\nbase_url = "{GATEWAY}"\nenv_key = "MINE"\nwire_api = "responses"\n'
    extra = 'notify = ["x"]\nmodel = "m"\n'
    machine.put(
        ".codex/config.toml", f'model_provider = "mine"\n{extra}{provider}[mcp_servers.a]\ncommand = "x"\n'
    )
    machine.put(".codex/AGENTS.md", "Speak French.")
    prepared = machine.prepare("codex", env={"MINE": SECRET})
    assert prepared.route and (prepared.route.upstream, prepared.route.read_headers()) == (GATEWAY, BEARER)
    config = tomllib.loads((machine.private / ".codex/config.toml").read_text())
    assert (config["model_provider"], list(config["model_providers"])) == ("ostler", ["ostler"])
    assert (config["model_providers"]["ostler"]["base_url"], config["model"]) == (URL, "m")
    assert config["projects"] == {"/work": {"trust_level": "trusted"}}
    assert prepared.left_out == (
        ".codex/config.toml#mcp_servers",
        ".codex/config.toml#notify",
        ".codex/AGENTS.md",
    )


def test_codex_with_a_login(machine: Machine) -> None:
    """The proxy adds the token and the account of the subscription."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 999}).encode()).decode()
    token = f"{SECRET}.{claims}.x"
    tokens = {"access_token": token, "refresh_token": SECRET, "id_token": token, "account_id": "acc"}
    machine.put(".codex/auth.json", {"OPENAI_API_KEY": None, "tokens": tokens})
    prepared = machine.prepare("codex")
    assert prepared.route and prepared.route.upstream == "https://chatgpt.com/backend-api/codex"
    assert prepared.route.read_headers() == {"authorization": f"Bearer {token}", "chatgpt-account-id": "acc"}
    config = tomllib.loads((machine.private / ".codex/config.toml").read_text())
    assert config["model_providers"]["ostler"]["requires_openai_auth"] and not machine.holds_secret()
    old = base64.urlsafe_b64encode(json.dumps({"exp": 1}).encode()).decode()
    machine.put(".codex/auth.json", {"tokens": {**tokens, "access_token": f"{SECRET}.{old}.x"}})
    with pytest.raises(OstlerError, match="the login of codex has ended"):
        machine.prepare("codex")


def test_gemini_with_a_login_and_a_file_of_variables(machine: Machine) -> None:
    machine.put(".gemini/.env", f"# key\nGEMINI_API_KEY={SECRET}\n")
    prepared = machine.prepare("gemini")
    assert prepared.route and prepared.route.read_headers() == {"x-goog-api-key": SECRET}
    assert not machine.holds_secret()
    (machine.home / ".gemini/.env").unlink()
    machine.put(".gemini/oauth_creds.json", {"access_token": SECRET, "refresh_token": SECRET})
    prepared = machine.prepare("gemini")
    assert prepared.route and prepared.route.read_headers() == BEARER and not machine.holds_secret()
    assert machine.start["CODE_ASSIST_ENDPOINT"] == URL


def test_opencode_with_a_provider_of_the_settings(machine: Machine) -> None:
    """A key in the settings, as a reference or in its login file, is not copied."""
    options = {"baseURL": GATEWAY, "apiKey": "{env:MINE}"}
    config = {
        "provider": {"mine": {"npm": "@ai-sdk/openai-compatible", "options": options}},
        "mcp": {"a": {}},
    }
    machine.put(".config/opencode/opencode.jsonc", f"// mine\n{json.dumps(config)}")
    prepared = machine.prepare("opencode", env={"MINE": SECRET}, model="mine/m1")
    assert prepared.route and (prepared.route.upstream, prepared.route.read_headers()) == (GATEWAY, BEARER)
    assert prepared.left_out == (".config/opencode/opencode.jsonc#mcp",)
    machine.put(".local/share/opencode/auth.json", {"anthropic": {"type": "api", "key": SECRET}})
    prepared = machine.prepare("opencode", model="anthropic/claude")
    assert prepared.route and prepared.route.read_headers() == {"x-api-key": SECRET}
    assert not machine.holds_secret()


@pytest.mark.parametrize("kind", ["copilot", "cursor", "amp", "acp"])
def test_an_agent_without_an_address_gets_its_keys(machine: Machine, kind: str) -> None:
    prepared = machine.prepare(kind)
    assert prepared.route is None and "sandbox.allow_hosts" in prepared.warnings[0]
    assert machine.prepare(kind, url="").warnings == ()


@pytest.mark.parametrize(
    ("kind", "path", "content"),
    [
        ("claude", ".claude/.credentials.json", {"claudeAiOauth": {"accessToken": SECRET}}),
        ("claude", ".claude.json", {"primaryApiKey": SECRET, "projects": {"/other": "OTHER-PROJECT"}}),
        ("claude", ".claude/settings.json", {"env": {"ANTHROPIC_AUTH_TOKEN": SECRET}}),
        ("codex", ".codex/auth.json", {"OPENAI_API_KEY": SECRET}),
        ("gemini", ".gemini/.env", f"GEMINI_API_KEY={SECRET}"),
        ("opencode", ".local/share/opencode/auth.json", {"anthropic": {"type": "api", "key": SECRET}}),
        ("qwen", ".qwen/settings.json", {"security": {"auth": {"apiKey": SECRET, "baseUrl": GATEWAY}}}),
        ("copilot", ".copilot/config.json", {"token": SECRET}),
    ],
)
def test_logins_go_in_without_a_proxy_and_are_removed_again(
    machine: Machine, kind: str, path: str, content: object
) -> None:
    """Without a proxy an agent works as before; the next agent of the task does not find its login."""
    machine.put(path, content)
    machine.prepare(kind, url="")
    assert machine.holds_secret()
    assert "OTHER-PROJECT" not in "".join(one.read_text() for one in machine.private.rglob("*.json"))
    if kind != "copilot":
        machine.prepare(kind)
        assert not machine.holds_secret()
        machine.prepare(kind, url="")
    machine.prepare("cursor")
    assert not machine.holds_secret()


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_every_agent_is_prepared_without_files_of_the_user(machine: Machine, kind: str) -> None:
    """A user who never started the agent has a working home directory too."""
    prepared = machine.prepare(kind)
    assert prepared.left_out == () and machine.private.is_dir()


THREAD = "01a1e47e-ba05-77d2-b548-96bcec76fea5"
LINES = (
    json.dumps({"type": "thread.started", "thread_id": THREAD}).encode(),
    b'{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Done."}}',
    b'{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}',
)


def run_codex(machine: Machine, tmp_path: Path) -> tuple[CallResult, MockCommandRunner]:
    """Run codex as in a sandbox: HOME is that of the user, the files are in the private directory."""
    runner = MockCommandRunner(LINES)
    settings = ExecutorSettings(command=str(machine.program), env={"OPENAI_API_KEY": SECRET})
    executor = ExecutorRegistry().get("codex")("codex", settings, runner)
    access = SandboxAccess({"OPENAI_API_KEY": PLACEHOLDER}, ("CODEX_HOME",), ("-c", "x=1"))
    env = {"HOME": str(machine.home), "CODEX_HOME": str(tmp_path / "elsewhere")}
    call = AgentCall("i", "p", env=env, cwd=str(tmp_path), home=str(machine.private), access=access)
    return asyncio.run(executor.spawn(call, lambda _: None)), runner


def test_the_start_of_an_agent_and_its_session_file(machine: Machine, tmp_path: Path) -> None:
    """The changes for the sandbox win over all settings; windows are read in the private home directory."""
    at = datetime.fromtimestamp(time.time() + 60, UTC).isoformat()
    limits = {"primary": {"used_percent": 40.0, "window_minutes": 300, "resets_at": time.time() + 999}}
    line = json.dumps({"timestamp": at, "payload": {"rate_limits": limits}})
    name = f".codex/sessions/2026/11/16/rollout-x-{THREAD}.jsonl"
    write_private(machine.home, name, b"")  # of the user, who has no such session
    machine.private.mkdir()
    write_private(machine.private, name, line.encode())
    result, runner = run_codex(machine, tmp_path)
    assert result.ok and [window.used for window in result.windows] == [0.4]
    assert runner.last.env["OPENAI_API_KEY"] == PLACEHOLDER and "CODEX_HOME" not in runner.last.env
    assert runner.last.argv[-2:] == ("-c", "x=1") and runner.last.env["HOME"] == str(machine.home)


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_session_file_that_is_a_trap(machine: Machine, tmp_path: Path, kind: str) -> None:
    """A link to another file is not read, and a pipe does not block."""
    place = machine.private / f".codex/sessions/2026/11/16/rollout-x-{THREAD}.jsonl"
    place.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(place)
    else:
        outside = tmp_path / "outside"
        limits = {"primary": {"used_percent": 40.0}}
        outside.write_text(
            json.dumps({"timestamp": "2100-01-01T00:00:00Z", "payload": {"rate_limits": limits}})
        )
        place.symlink_to(outside)
    result, _ = run_codex(machine, tmp_path)
    assert result.ok and result.windows == ()
