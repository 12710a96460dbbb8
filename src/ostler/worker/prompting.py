"""What an attempt is told: the prompt, what the plugins add, and what a debugger makes of it."""

from __future__ import annotations

from ostler.clock import Clock
from ostler.model.choice import Choice
from ostler.worker.course import Course
from ostler.worker.debugger import PrePromptEvent, PromptData
from ostler.worker.hooks import PluginRegistry
from ostler.worker.order import Form
from ostler.worker.prompt_papers import note_edit, write_current


class Prompts:
    """Makes the prompts of attempts."""

    def __init__(self, plugins: PluginRegistry, clock: Clock) -> None:
        self._plugins = plugins
        self._clock = clock

    async def write(
        self, course: Course, choice: Choice, knows_task: bool, form: Form | None = None
    ) -> tuple[str, str]:
        """What to say, and what to say instead where the session turns out to be lost."""
        order, words, fresh = course.order, form or course.order, ""
        if knows_task or course.was_with_another(choice):
            told = await words.fresh_prompt_for(choice.executor, course.how, order.attempts)
            fresh = self._plugins.with_capabilities(told)
        plain = self._plugins.with_capabilities(words.prompt_for(knows_task, course.how))
        if not knows_task and fresh:
            plain, fresh = fresh, ""
        sent = await self._steered(course, choice, plain) if course.steering.asks else plain
        return sent, fresh if sent == plain else ""  # what a person wrote goes for a new session, too

    async def _steered(self, course: Course, choice: Choice, plain: str) -> str:
        order, steering = course.order, course.steering
        data = PromptData(
            model=choice.name,
            executor=choice.executor,
            model_id=choice.model,
            phase=order.phase,
            iteration=order.iteration,
            attempt=course.next_number,
            prompt_file=str(write_current(order.papers, steering.shown(plain))),
        )
        sent = await steering.prompt_for(PrePromptEvent(order.task, self._clock.now(), plain, data))
        if steering.edited_from is not None:
            write_current(order.papers, sent)
            note_edit(order.papers, data.attempt, steering.edited_from, sent, self._clock.now())
        return sent
