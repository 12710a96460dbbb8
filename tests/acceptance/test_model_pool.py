"""Four models of three agents: which are called, in which order, and the result of the task."""

from __future__ import annotations

from datetime import datetime

import pytest

from models_world import QUICK, Row, add_tasks, called, codes, play, row, write_models
from world import World

SONNET = row("sonnet", "claude")
GPT = row("gpt", "codex")
FLASH = row("flash", "gemini")
OPUS = row("opus", "claude", fallback=True)
PRIORITY = QUICK + '[selection]\nstrategy = "priority"\n'
LIMIT = {"fault": "api_error", "error": 429, "error_message": "try again in 10 minutes"}
QUOTA = "you have hit your usage limit, try again in 2 hours"


@pytest.mark.full
def test_four_models_and_the_last_one_is_good(world: World) -> None:
    """529s and crashes are retried, a quota leads to the fallback at once; the number of calls is exact."""
    write_models(world, SONNET, GPT, FLASH, OPUS, more=PRIORITY)
    overloaded = {"fault": "api_error", "error": 529}
    world.behave(plan=[overloaded, overloaded, overloaded, {}])
    play(world, "codex", fault="crash")
    play(world, "gemini", fault="api_error", error=429, error_message=QUOTA)
    (task,) = add_tasks(world, 1)
    world.ostler("run", task)
    shown = world.show(task)
    assert shown["status"] == "completed"
    assert called(world) == [
        *["claude model-of-sonnet"] * 3,
        *["codex model-of-gpt"] * 3,
        "gemini model-of-flash",
        "claude model-of-opus",
    ]
    assert codes(shown) == [
        *[("claude", "OVERLOADED")] * 3,
        *[("codex", "AGENT_FAILED")] * 3,
        ("gemini", "QUOTA_EXCEEDED"),
        ("claude", None),
    ]


def test_each_attempt_is_shown_with_its_model(world: World) -> None:
    """Models can share an agent: the progress of a run and `show` name both."""
    write_models(world, SONNET, OPUS, more=PRIORITY)
    world.behave(plan=[*["crash"] * 3, {}])
    (task,) = add_tasks(world, 1)
    run = world.ostler("run", task)
    assert "with claude model-of-sonnet" in run.stdout and "with claude model-of-opus" in run.stdout
    shown = world.ostler("show", task).stdout
    assert "claude model-of-sonnet  " in shown and "claude model-of-opus  " in shown


@pytest.mark.full
def test_no_call_is_made_that_the_bound_does_not_allow(world: World) -> None:
    """models x (1 + max_retries): that many calls, and the message has the number."""
    write_models(world, SONNET, GPT, FLASH, OPUS, more=PRIORITY)
    for program in ("claude", "codex", "gemini"):
        play(world, program, fault="crash")
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, code=1)
    assert len(called(world)) == 12
    assert "12 of at most 12 attempts" in world.show(task)["message"]


def test_an_exhausted_pool_names_every_model_with_its_reason(world: World) -> None:
    """D13, C32: called, refused, limited, missing or disabled, and when the first one is available again."""
    old = row("old", "claude", enabled=False)
    write_models(world, SONNET, GPT, FLASH, row("mini", "codex", account="other"), old, more=PRIORITY)
    world.behave(fault="crash")
    play(world, "codex", plan=[{"fault": "api_error", "error": 401}, LIMIT])
    world.environ["OSTLER_GEMINI_PATH"] = str(world.agents / "nowhere")
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    (task,) = add_tasks(world, 1)
    printed = world.ostler("run", task, code=1).stdout
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "MODELS_EXHAUSTED")
    assert called(world) == ["claude model-of-sonnet", "codex model-of-gpt", "codex model-of-mini"]
    for words in (
        "no model is left after 3 of at most 4 attempts: sonnet: AGENT_FAILED (",
        "; gpt: AUTH_FAILED, not called until ",
        "; flash: AGENT_NOT_FOUND (",
        "; mini: RATE_LIMITED until ",
        "; old: disabled",
        "; the first is available again at ",
    ):
        assert words in shown["message"], words
    assert "MODELS_EXHAUSTED" in printed


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ({"fault": "api_error", "error": 529}, "deferred", "OVERLOADED"),
        ({"fault": "crash"}, "failed", "AGENT_FAILED"),
        ({"fault": "api_error", "error": 401}, "pending", "AUTH_FAILED"),
        ({"fault": "api_error", "error": 404}, "failed", "MODEL_NOT_FOUND"),
    ],
)
def test_a_pool_of_one_keeps_the_code_of_its_model(
    world: World, fault: dict[str, object], status: str, code: str
) -> None:
    """contract.md, Retries: a single model is not an exhausted pool."""
    write_models(world, SONNET)
    world.behave(**fault)
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, code={"deferred": 5, "pending": 4}.get(status, 1))
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == (status, code)
    assert len(called(world)) == (3 if code in ("OVERLOADED", "AGENT_FAILED") else 1)


@pytest.mark.full
@pytest.mark.parametrize("rows", [[GPT], [GPT, row("mini", "opencode")]])
def test_when_only_limits_block_the_task_is_deferred(world: World, rows: list[Row]) -> None:
    """Exit 5 with the earliest time at which one is available; each model was called once."""
    write_models(world, *rows, more=PRIORITY)
    play(world, "codex", fault="api_error", error_message=QUOTA)
    play(world, "opencode", fault="api_error", error_message="try again in 10 minutes")
    (task,) = add_tasks(world, 1)
    world.ostler("run", task, code=5)
    shown = world.show(task)
    assert (shown["status"], len(called(world))) == ("deferred", len(rows))
    assert shown["code"] == ("QUOTA_EXCEEDED" if len(rows) == 1 else "RATE_LIMITED")
    assert seconds_until(shown["resumes_at"]) == pytest.approx(7200 if len(rows) == 1 else 600, abs=100)
    world.ostler("run", "--all")
    assert len(called(world)) == len(rows)


@pytest.mark.full
def test_a_refused_key_is_off_for_the_run(world: World) -> None:
    """AUTH_FAILED: the next task of the same run does not try that model, the next run does."""
    write_models(world, SONNET, GPT, more=PRIORITY)
    world.behave(fault="api_error", error=401)
    play(world, "codex")
    tasks = add_tasks(world, 3)
    world.ostler("run", "-j", "1", *tasks)
    assert called(world) == ["claude model-of-sonnet", *["codex model-of-gpt"] * 3]
    world.ostler("run", world.new("One more"))
    assert called(world)[4:] == ["claude model-of-sonnet", "codex model-of-gpt"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("round-robin", ["sonnet", "gpt", "flash", "sonnet"]),
        ("priority", ["sonnet"] * 4),
        ("cost-aware", ["flash"] * 4),
        ("random", None),
    ],
)
@pytest.mark.sampled(1)
def test_each_strategy_chooses_its_first_model(
    world: World, strategy: str, expected: list[str] | None
) -> None:
    """With working models: the models of four tasks of one run, never the fallback."""
    rows = [{**SONNET, "cost_weight": 60}, GPT, {**FLASH, "cost_weight": 10}, {**OPUS, "cost_weight": 1}]
    write_models(world, *rows, more=f'{QUICK}[selection]\nstrategy = "{strategy}"\n')
    for program in ("claude", "codex", "gemini"):
        play(world, program)
    world.ostler("run", "-j", "1", *add_tasks(world, 4))
    models = [line.partition("model-of-")[2] for line in called(world)]
    assert len(models) == 4 and set(models) <= {"sonnet", "gpt", "flash"}
    assert expected is None or models == expected


@pytest.mark.sampled(1)
@pytest.mark.parametrize("strategy", ["round-robin", "priority", "cost-aware", "random"])
def test_each_strategy_goes_past_what_was_tried(world: World, strategy: str) -> None:
    """C30: three failing models are tried once each, for every strategy, and then the fallback."""
    write_models(world, SONNET, GPT, FLASH, OPUS, more=f'{QUICK}[selection]\nstrategy = "{strategy}"\n')
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=["crash", ""])
    play(world, "codex", fault="crash")
    play(world, "gemini", fault="crash")
    world.ostler("run", *add_tasks(world, 1))
    models = [line.partition("model-of-")[2] for line in called(world)]
    assert sorted(models[:3]) == ["flash", "gpt", "sonnet"] and models[3:] == ["opus"]


def test_the_fallback_can_be_forced(world: World) -> None:
    """C35: with selection.force_fallback the primary models are not called, and the message names them."""
    write_models(world, SONNET, OPUS, more=PRIORITY + "force_fallback = true\n")
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.ostler("run", *add_tasks(world, 1))
    assert called(world) == ["claude model-of-opus"]
    world.behave(fault="crash")
    task = world.new("Another")
    world.ostler("run", task, code=1)
    assert "sonnet: skipped (only the fallback models were requested)" in world.show(task)["message"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--model", "gpt"), ["codex model-of-gpt"]),
        (("--model", "model-of-opus"), ["claude model-of-opus"]),
        (("--executor", "gemini"), ["gemini model-of-flash"]),
        (("--executor", "claude"), ["claude model-of-sonnet"]),
        (("--executor", "claude", "--model", "something-else"), ["claude something-else"]),
    ],
)
@pytest.mark.sampled(2)
def test_flags_narrow_the_pool(world: World, flags: tuple[str, ...], expected: list[str]) -> None:
    """A name, a model or an agent of the settings; otherwise the one model given by the flags."""
    write_models(world, SONNET, GPT, FLASH, OPUS, more=PRIORITY)
    for program in ("claude", "codex", "gemini"):
        play(world, program)
    world.ostler("run", *flags, *add_tasks(world, 1))
    assert called(world) == expected


def test_an_unknown_agent_is_a_mistake_in_the_settings(world: World) -> None:
    """Exit 2 with the line, before any task is claimed."""
    write_models(world, SONNET, row("gpt", "codecs"), more=PRIORITY)
    (task,) = add_tasks(world, 1)
    printed = world.ostler("run", task, code=2).stderr
    assert 'unknown executor "codecs"; did you mean codex?' in printed
    assert "ostler.toml:" in printed and "models[1].executor" in printed
    assert world.show(task)["status"] == "pending" and called(world) == []


@pytest.mark.one_machine("in a cluster a worker starts the task, and records a missing agent as its failure")
def test_a_pool_of_missing_agents_fails_no_task(world: World) -> None:
    """C31: no task is claimed, and the sentence names what is missing."""
    write_models(world, GPT, FLASH, more=PRIORITY)
    for program in ("CODEX", "GEMINI"):
        world.environ[f"OSTLER_{program}_PATH"] = str(world.agents / "nowhere")
    (task,) = add_tasks(world, 1)
    printed = world.ostler("run", task, code=2).stderr
    assert "nowhere" in printed
    assert world.show(task)["status"] == "pending"


@pytest.mark.one_machine("in a cluster a worker starts the task, and records disabled models as its failure")
def test_a_pool_that_is_disabled_is_reported_before_the_run(world: World) -> None:
    """No model can be called: one sentence, and the task is unchanged."""
    write_models(world, {**SONNET, "enabled": False}, {**GPT, "enabled": False})
    play(world, "codex")
    (task,) = add_tasks(world, 1)
    printed = world.ostler("run", task, code=2).stderr
    assert "disabled" in printed
    assert world.show(task)["status"] == "pending" and called(world) == []


def test_another_agent_in_the_middle_of_a_phase_gets_what_was_done(world: World) -> None:
    """It gets the whole task and the work so far, and no note about a lost session."""
    write_models(world, SONNET, GPT, more=PRIORITY)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(fault="crash", edits={"half.txt": "half done"})
    play(world, "codex", edits={"rest.txt": "the rest"})
    task = world.new("Write both halves", "-d", "Two files, please.")
    world.ostler("run", task)
    first, second = prompts(world, task)
    assert "Two files, please." in first and "Two files, please." in second
    assert "Another agent worked on this before you" in second
    assert "half.txt" in second and "claude" in second
    assert "session" not in second.partition("Another agent")[2]
    assert world.git("show", "--stat", world.show(task)["branch"]).count("| 1 +") == 2


def test_another_agent_takes_over_in_a_later_iteration(world: World) -> None:
    """The first one did a part and is then limited: the second gets the work so far."""
    write_models(world, SONNET, GPT, more=PRIORITY)
    printed = {"fault": "no_mark", "edits": {"half.txt": "half done"}}
    world.behave(plan=[printed, {"fault": "api_error", "error": 401}])
    play(world, "codex", edits={"rest.txt": "the rest"})
    task = world.new("Write both halves", "-d", "Two files, please.")
    world.ostler("run", task)
    assert called(world) == ["claude model-of-sonnet"] * 2 + ["codex model-of-gpt"]
    last = prompts(world, task)[-1]
    assert "Two files, please." in last and "Another agent worked on this before you" in last
    assert "half.txt" in last and "Your answer in the last iteration" not in last


def test_another_model_of_the_same_agent_goes_on_in_its_session(world: World) -> None:
    """Both models are claude's: the session is resumed, and the task is not repeated."""
    write_models(world, SONNET, row("haiku", "claude"), more=PRIORITY)
    world.environ["OSTLER_RETRY__MAX_RETRIES"] = "0"
    world.behave(plan=[{"fault": "crash"}, {}])
    task = world.new("Write it", "-d", "Two files, please.")
    world.ostler("run", task)
    assert [line["resumed"] for line in world.started()] == [False, True]
    assert "Two files, please." not in prompts(world, task)[1]


def prompts(world: World, task: str) -> list[str]:
    files_text = world.root / ".ostler" / "tasks" / task / "prompts"
    return [path.read_text() for path in sorted(files_text.glob("*-0*.md"))]


def seconds_until(time: str) -> float:
    return datetime.fromisoformat(time).timestamp() - datetime.now().timestamp()
