"""For any results of the models a call ends, makes a bounded number of attempts, and gives a reason."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from test_calls_call import Bench, fails, ok

from examples import examples
from ostler.calls.request import CallOutcome
from ostler.config.settings import HostSettings, RetrySettings, SelectionSettings, Settings
from ostler.errors import Code
from ostler.model.call import CallResult
from ostler.model.policy.model_config import ModelConfig

POOL = (
    ModelConfig("sonnet", "claude", "s"),
    ModelConfig("gpt", "codex", "g"),
    ModelConfig("haiku", "claude", "h"),
    ModelConfig("opus", "claude", "o", fallback=True),
)
OFF = (Code.AUTH_FAILED, Code.MODEL_NOT_FOUND, Code.BILLING)
LIMITS = (Code.RATE_LIMITED, Code.QUOTA_EXCEEDED)
FAILURES = (Code.OVERLOADED, Code.AGENT_FAILED, Code.TIMEOUT, Code.NETWORK, Code.REFUSED, *OFF)

answers = st.one_of(
    st.builds(ok),
    st.builds(fails, st.sampled_from(FAILURES)),
    st.builds(fails, st.sampled_from(LIMITS), st.sampled_from([None, 0.0, 1.0, 30.0, 61.0, 7200.0])),
)
scripts = st.lists(answers, min_size=1, max_size=6)
strategies = st.sampled_from(["priority", "round-robin", "cost-aware", "random"])


def run_calls(bench: Bench, count: int) -> list[CallOutcome]:
    async def together() -> list[CallOutcome]:
        names = [f"t-{number}" for number in range(count)]
        return list(await asyncio.gather(*(bench.run(*POOL, task=name, key=name) for name in names)))

    return asyncio.run(together())


def check(bench: Bench, task: str, outcome: CallOutcome, max_retries: int) -> None:
    attempts = [one for one in bench.journal.attempts if one.task == task]
    for choice in POOL:
        own = [one.code for one in attempts if one.model_name == choice.name]
        assert len(own) <= 1 + max_retries
        assert not any(code in OFF or code is Code.QUOTA_EXCEEDED for code in own[:-1])
    if outcome.result.ok:
        assert attempts[-1].code is None
        return
    assert None not in [one.code for one in attempts]
    assert all(f"{choice.name}: " in outcome.result.message for choice in POOL)
    bound = f"after {len(attempts)} of at most {len(POOL) * (1 + max_retries)} attempts"
    assert bound in outcome.result.message
    assert (outcome.resumes_at is None) == (outcome.result.code is Code.MODELS_EXHAUSTED)


@settings(max_examples=examples(150))
@given(
    lines=st.lists(scripts, min_size=4, max_size=4),
    strategy=strategies,
    max_retries=st.integers(0, 3),
    seconds=st.sampled_from([0.0, 0.5, 20.0]),
    count=st.integers(1, 4),
)
def test_every_call_ends_within_its_bound(
    lines: list[list[CallResult]], strategy: str, max_retries: int, seconds: float, count: int
) -> None:
    """Random answers of four models to several calls at once, on virtual time with the real ledger."""
    chosen = Settings(
        retry=RetrySettings(max_retries=max_retries),
        selection=SelectionSettings(strategy=strategy),  # type: ignore[arg-type]
        host=HostSettings(start_stagger_seconds=0.0),
    )
    with TemporaryDirectory() as home:
        names = (choice.name for choice in POOL)
        bench = Bench(Path(home), chosen, **dict(zip(names, lines, strict=True)))
        bench.models.seconds = seconds
        for number, outcome in enumerate(run_calls(bench, count)):
            check(bench, f"t-{number}", outcome, max_retries)
        bench.ledger.close()
