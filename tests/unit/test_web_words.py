"""The words of the dashboard for the state of a task."""

from __future__ import annotations

import msgspec
import pytest

from js_modules import call, evaluate
from ostler.model.usage import Usage


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("RATE_LIMITED", "Waiting for a limit"),
        ("QUOTA_EXCEEDED", "Waiting for a limit"),
        ("BUDGET_EXCEEDED", "Waiting for the budget"),
        ("NETWORK", "Waiting for the provider"),
        (None, "Deferred"),
    ],
)
def test_a_deferred_task_names_what_it_waits_for(code: str | None, text: str) -> None:
    """A limit is always one of a provider, a budget always one of money."""
    assert call("format.js", "statusName", "deferred", code) == text


@pytest.mark.parametrize(
    ("state", "checks", "words"),
    [
        ("open", [], "open"),
        ("open", ["passed", "passed", "skipped"], "✓ 2 checks"),
        ("draft", ["passed"], "draft, ✓ 1 check"),
        ("open", ["passed", "running"], "1 of 2 checks run"),
        ("open", ["passed", "running", "failed"], "✗ 1 of 3 checks failed"),
        ("merged", ["failed"], "merged"),
        ("closed", [], "closed"),
    ],
)
def test_the_checks_of_a_pull_request_in_words(state: str, checks: list[str], words: str) -> None:
    """What needs attention comes first; skipped checks do not count."""
    given = {"state": state, "checks": [{"name": f"c{at}", "state": one} for at, one in enumerate(checks)]}
    assert call("work/checks.js", "checksInWords", given)["words"] == words


@pytest.mark.parametrize(
    ("usd", "text"),
    [(None, "\u2013"), (0, "$0.00"), (0.00002, "<$0.0001"), (0.00014, "$0.0001"), (0.31, "$0.31")],
)
def test_a_cost_is_never_shown_as_nothing(usd: float | None, text: str) -> None:
    assert call("format.js", "money", usd) == text


@pytest.mark.parametrize(
    ("work", "place"),
    [
        ({"diffstat": {"files": 1}}, "/tasks/a/review"),
        ({"output_path": "outputs/a.md"}, "/tasks/a/review"),
        ({"output_path": "outputs/a.md", "held": True}, "/tasks/a"),
        ({}, "/tasks/a"),
        ({"kind": "question", "diffstat": {"files": 1}}, "/tasks/a"),
    ],
)
def test_a_card_leads_to_the_review_of_its_change_or_document(work: dict[str, object], place: str) -> None:
    at_root = "globalThis.location = { pathname: '/' };"
    script = f"{at_root} return (await load('inbox/kinds.js')).placeOf(args[0]);"
    assert evaluate(script, {"id": "a", "kind": "review", **work}) == place


@pytest.mark.parametrize(
    ("published", "note"),
    [
        ({"published_into": "main"}, "Its work is in main."),
        ({"published_into": "main", "pr_url": "https://github.com/a/b/pull/1"}, None),
        ({}, None),
    ],
)
def test_the_base_of_an_open_pull_request_does_not_have_the_work(
    published: dict[str, str], note: str | None
) -> None:
    task = {"status": "completed", "accept": [], **published}
    assert call("task/rail/choices.js", "choicesOf", task, None).get("note") == note


@pytest.mark.parametrize(
    ("attempts", "advice"), [([], "No agent was started"), ([{}], "Read the end of the transcript")]
)
def test_a_task_without_an_attempt_has_no_transcript_to_read(attempts: list[object], advice: str) -> None:
    task = {"status": "failed", "code": "AGENT_NOT_FOUND", "message": "", "phases": [], "attempts": attempts}
    assert call("task/question.js", "questionOf", task)["next"].startswith(advice)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("please review implement (07ce4d0930: 1 file, +8 -0); `make test` succeeded", "Review implement."),
        ("please review implement (07ce4d0930: 1 file, +8 -0); no tests were found", None),
        ("main is checked out", None),
    ],
)
def test_a_request_does_not_repeat_what_is_shown_beside_it(message: str, text: str | None) -> None:
    task = {"status": "needs_review", "message": message, "phase": "implement", "phases": []}
    assert call("task/question.js", "questionOf", task)["text"] == (text or message)


def test_the_cost_page_counts_tokens_as_all_others_do() -> None:
    """Without those of the cache, as `ostler status`, the cards and the chart of the same page."""
    usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=2000, cache_write_tokens=300)
    assert call("format.js", "usedTokens", msgspec.to_builtins(usage)) == usage.total == 15
