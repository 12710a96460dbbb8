"""Builds the prompts of attempts, and keeps the current prompt and a debugger's changes as files."""

from __future__ import annotations

from pathlib import Path

from ostler.calls.attempts.progress import CallProgress
from ostler.calls.debugger import PrePromptEvent, PromptData
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import AnswerFormat
from ostler.clock import Clock, format_rfc3339
from ostler.files.atomic import make_private_dir, write_projection
from ostler.model.call import FreshPrompt
from ostler.model.policy.model_config import ModelConfig
from ostler.process.transcript import Transcript
from ostler.secrets.redact import redact_bytes

PROMPTS = "prompts"
CURRENT = "current-prompt.md"
CHANGES = "prompt-changes.log"


class BuiltOnce:
    """The prompt of a new session: built when an executor asks for it, and kept."""

    def __init__(self, build: FreshPrompt) -> None:
        self._build = build
        self.text = ""  # empty: no executor has asked for it

    async def __call__(self) -> str:
        self.text = self.text or await self._build()
        return self.text


class PromptBuilder:
    """Builds the prompt of an attempt: that of the request, the plugins' additions, a debugger's changes."""

    def __init__(self, plugins: PluginRegistry, clock: Clock) -> None:
        self._plugins = plugins
        self._clock = clock

    async def build(
        self,
        progress: CallProgress,
        model: ModelConfig,
        continues_session: bool,
        answer_format: AnswerFormat | None = None,
    ) -> tuple[str, BuiltOnce | None]:
        """Return the prompt, and a function for the one of a new session, if the session is continued."""
        request, source = progress.request, answer_format or progress.request
        failure = progress.previous_failure

        async def build_fresh() -> str:
            text = await source.build_fresh_prompt(model.executor, failure, request.attempts)
            return self._plugins.with_capabilities(text)

        if not continues_session and (
            progress.used_other_executor(model) or progress.has_lost_session(model)
        ):
            prompt = await build_fresh()
        else:
            prompt = self._plugins.with_capabilities(source.build_prompt(continues_session, failure))
        fresh = BuiltOnce(build_fresh) if continues_session else None
        if not progress.prompt_override.has_debugger:
            return prompt, fresh
        sent = await self._ask_debugger(progress, model, prompt)
        if fresh is None or sent == prompt:
            return sent, fresh

        async def repeat_written() -> str:
            return sent

        return sent, BuiltOnce(repeat_written)  # a prompt that a person wrote is also sent to a new session

    async def _ask_debugger(self, progress: CallProgress, model: ModelConfig, prompt: str) -> str:
        request, override = progress.request, progress.prompt_override
        data = PromptData(
            model=model.name,
            executor=model.executor,
            model_id=model.model,
            phase=request.phase,
            iteration=request.iteration,
            attempt=progress.next_number,
            prompt_file=str(_show_current(request.task_dir, override.apply(prompt))),
        )
        sent = await override.ask(PrePromptEvent(request.task, self._clock.now(), prompt, data))
        if override.edited_from is not None:
            _show_current(request.task_dir, sent)
            log_change(request.task_dir, data.attempt, override.edited_from, sent, self._clock.now())
        return sent


def write_current(task_dir: Path, prompt: bytes) -> None:
    """Write the prompt that is sent next, without secrets, to prompts/current-prompt.md (C68)."""
    write_projection(task_dir / PROMPTS / CURRENT, prompt)


def _show_current(task_dir: Path, prompt: str) -> Path:
    """Write the prompt that a debugger shows; return its file."""
    make_private_dir(task_dir / PROMPTS, durable=False)
    write_current(task_dir, redact_bytes(prompt.encode("utf-8", "replace")))
    return task_dir / PROMPTS / CURRENT


def log_change(task_dir: Path, attempt: int, before: str, after: str, at: float) -> None:
    """Append a debugger's change to prompts/prompt-changes.log, as a diff with both full texts (C77)."""
    # Only a debugger needs it.
    from difflib import unified_diff  # noqa: PLC0415

    log = Transcript(str(task_dir / PROMPTS / CHANGES))
    context = len(before.splitlines()) + len(after.splitlines())
    lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=context, lineterm="")
    try:
        log.write(f"{format_rfc3339(at)} attempt {attempt}\n".encode())
        log.write("\n".join((*lines, "\n")).encode("utf-8", "replace"))
    finally:
        log.close()
