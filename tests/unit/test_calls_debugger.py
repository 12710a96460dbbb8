"""A debugger receives each prompt before it is sent."""

from __future__ import annotations

import asyncio

import pytest

from ostler.calls.breakpoints import Breakpoint, BreakpointDebugger
from ostler.calls.debugger import (
    DebugEvent,
    PrePromptEvent,
    PromptData,
    PromptOverride,
    StoppingDebugger,
    StopRun,
    adapt_debugger,
)
from ostler.model.ids import TaskId


def event(prompt: str = "Do it.") -> PrePromptEvent:
    return PrePromptEvent(TaskId("t-1"), 12.0, prompt, PromptData("sonnet", "claude", "claude-sonnet-5-5"))


class Scripted:
    """Answers from a list and records the prompts that it receives."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.shown: list[PrePromptEvent] = []

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        self.shown.append(event)
        return self.answers.pop(0)


def steer(debugger: Scripted, *prompts: str) -> list[str]:
    steering = PromptOverride(debugger)

    async def go() -> list[str]:
        return [await steering.ask(event(prompt)) for prompt in prompts]

    return asyncio.run(go())


def test_the_event_is_the_seeds() -> None:
    """The event has type, task, time, prompt and data: model, executor, model id."""
    seen = event()
    assert (seen.type, seen.task_id, seen.timestamp, seen.prompt) == ("PRE_PROMPT", "t-1", 12.0, "Do it.")
    assert (seen.data.model, seen.data.executor, seen.data.model_id) == (
        "sonnet",
        "claude",
        "claude-sonnet-5-5",
    )


def test_without_a_debugger_the_prompt_is_as_it_is() -> None:
    """Without a debugger the prompt is not changed."""
    assert asyncio.run(PromptOverride(None).ask(event("as it is"))) == "as it is"


def test_a_changed_prompt_holds_for_later_attempts() -> None:
    """The debugger receives its replacement next and can change it again; None keeps it."""
    debugger = Scripted(None, "Do it well.", None, "Do it now.", None)
    sent = steer(debugger, "Do it.", "Again.", "And again.", "Once more.", "Last.")
    assert sent == ["Do it.", "Do it well.", "Do it well.", "Do it now.", "Do it now."]
    assert [seen.prompt for seen in debugger.shown] == [
        "Do it.",
        "Again.",
        "Do it well.",
        "Do it well.",
        "Do it now.",
    ]


def test_giving_the_same_back_changes_nothing() -> None:
    """The next attempt has its own prompt, with the failure of the last one."""
    assert steer(Scripted("Do it.", None), "Do it.", "Again.") == ["Do it.", "Again."]


class Seed:
    """A debugger of the older interface, with sync methods."""

    def __init__(self) -> None:
        self.events: list[PrePromptEvent] = []
        self.modified: str | None = None

    def emit(self, event: PrePromptEvent) -> None:
        self.events.append(event)
        self.modified = event.prompt.upper()

    def get_and_clear_modified_prompt(self) -> str | None:
        taken, self.modified = self.modified, None
        return taken


class AsyncSeed(Seed):
    async def emit(self, event: PrePromptEvent) -> None:  # pyright: ignore
        await asyncio.sleep(0)
        super().emit(event)


@pytest.mark.parametrize("kind", [Seed, AsyncSeed])
def test_a_debugger_of_the_older_shape_is_asked_in_its_own_words(kind: type[Seed]) -> None:
    """emit is awaited; then the changed prompt is fetched and cleared."""
    seed = kind()
    assert asyncio.run(adapt_debugger(seed).pre_prompt(event())) == "DO IT."
    assert (seed.events, seed.modified) == ([event()], None)


def test_our_own_shape_is_taken_as_it_is() -> None:
    """A Debugger is returned unchanged."""
    debugger = Scripted()
    assert adapt_debugger(debugger) is debugger


def test_a_stop_reaches_the_run_and_the_call_waits_for_it() -> None:
    """StopRun calls the run's stop; the call is then cancelled like all others."""

    class Refusing:
        async def pre_prompt(self, event: PrePromptEvent) -> str | None:
            raise StopRun

    async def go() -> bool:
        calling: asyncio.Task[str]
        stopping = StoppingDebugger(Refusing(), lambda: bool(calling.cancel()) and None)
        calling = asyncio.create_task(PromptOverride(stopping).ask(event()))
        await asyncio.wait({calling})
        return calling.cancelled()

    assert asyncio.run(asyncio.wait_for(go(), 20))


def test_continuing_answers_the_stops_that_wait() -> None:
    """Two prompts reach a breakpoint at once; after `clear` at the first, the second is not stopped."""
    stops: list[str] = []

    async def handle(event: DebugEvent) -> str | None:
        stops.append(event.task_id)
        await asyncio.sleep(0)  # the second prompt waits for this answer
        debugger.clear()
        return "changed"

    debugger = BreakpointDebugger(handle, [Breakpoint()])

    async def go() -> list[str | None]:
        return await asyncio.gather(debugger.pre_prompt(event()), debugger.pre_prompt(event()))

    assert asyncio.run(go()) == ["changed", None] and stops == ["t-1"]
