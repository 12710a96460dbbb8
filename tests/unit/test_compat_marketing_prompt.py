"""The prompt of a document: the cases of seed 003, section 4.3, and others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.ids import TaskId
from ostler.model.task import Output, Task
from ostler.prompt.document import DocumentPrompt, UpstreamOutput, build_prompt, build_revision_prompt
from ostler.skills.content import Reference, SkillContent

SKILL = SkillContent(
    "copy",
    "Writes copy",
    "You write copy.\n",
    (
        Reference(".agents/skills/copy/references/a.md", "First."),
        Reference("x/b.md", "Second."),
    ),
)
TASK = Task("Sell hay", "In ten lines.", TaskId("sell-hay-1"), priority="P0", sender="director", skill="copy")
SURVEY = UpstreamOutput("outputs/survey.md", "The survey", "They have horses.")
PRICES = UpstreamOutput("outputs/prices.md", "The prices", "Ten a bale.")
WHOLE = """\
## Product Context
We sell hay.

## Task Assignment
- **Task ID:** sell-hay-1
- **From:** director
- **Priority:** P0
- **Goal:** Sell hay

## Upstream Inputs
### Input: The survey
Source: outputs/survey.md

They have horses.

## Requirements
In ten lines.

## Output Instructions
- Write your complete output below
- Format: markdown
- Be thorough and follow the skill guidelines above
"""


def build(skill: SkillContent = SKILL, task: Task = TASK, *inputs: UpstreamOutput) -> DocumentPrompt:
    return build_prompt(skill, task, "We sell hay.", inputs)


def test_builds_prompt_with_full_context() -> None:
    """Skill, product context and inputs, in the seed's text and order."""
    assert build(SKILL, TASK, SURVEY).user_message == WHOLE


def test_system_prompt_contains_skill_body() -> None:
    """The body of the skill comes first."""
    assert build().system_prompt.startswith("You write copy.\n\n---\n")


def test_system_prompt_contains_references_under_headings() -> None:
    """Under "Reference:" and the name of the file, in order."""
    assert build().system_prompt.endswith(
        "---\n## Reference: a.md\nFirst.\n\n---\n## Reference: b.md\nSecond."
    )


def test_user_message_contains_product_context() -> None:
    """As its first section."""
    assert "## Product Context\nWe sell hay.\n" in build().user_message


def test_user_message_contains_goal_requirements_priority() -> None:
    """Title, body and priority of the task."""
    user = build().user_message
    for words in ("**Goal:** Sell hay", "## Requirements\nIn ten lines.", "**Priority:** P0"):
        assert words in user


def test_user_message_contains_upstream_content_with_descriptions() -> None:
    """Each with its source."""
    user = build(SKILL, TASK, SURVEY).user_message
    assert "### Input: The survey\nSource: outputs/survey.md\n\nThey have horses." in user


@pytest.mark.parametrize("context", [None, "", " \n"])
def test_no_product_context(context: str | None) -> None:
    """Missing or empty, the message states it."""
    user = build_prompt(SKILL, TASK, context, ()).user_message
    assert "## Product Context\nNo product marketing context available. Work with" in user


def test_no_upstream_inputs() -> None:
    """The message states it."""
    assert "## Upstream Inputs\nNo upstream inputs for this task." in build().user_message


@pytest.mark.parametrize(("revision", "there"), [(0, False), (1, True), (3, True)])
def test_revision_task_contains_revision_context(revision: int, there: bool) -> None:
    """At the end of the message, as the seed appends it."""
    user = build(SKILL, Task("Sell hay", skill="copy", revision=revision)).user_message
    assert (f"## Revision Context\nThis is revision #{revision}." in user) is there
    assert ("## Revision Context" in user) is there
    assert not there or user.index("## Output Instructions") < user.index("## Revision Context")


def test_empty_skill_body_is_an_empty_system_prompt() -> None:
    """Nothing is missing without it."""
    assert build(SkillContent("copy", "", "")).system_prompt == ""


def test_multiple_upstream_inputs_appear_in_order() -> None:
    """As the task lists them."""
    user = build(SKILL, TASK, SURVEY, PRICES).user_message
    assert user.index("They have horses.") < user.index("### Input: The prices") < user.index("Ten a bale.")


# Edge cases of section 2.4, and others.


def test_empty_requirements_do_no_harm() -> None:
    """The section stays, empty."""
    assert "## Requirements\n\n\n## Output Instructions" in build(SKILL, Task("Sell hay")).user_message


def test_an_input_without_a_description_is_called_by_its_file() -> None:
    """Without its suffix."""
    assert (
        "### Input: survey\n" in build(SKILL, TASK, UpstreamOutput("outputs/survey.md", "", "x")).user_message
    )


def test_a_task_without_a_sender_is_from_a_person() -> None:
    """No line has a missing value."""
    assert "- **From:** a person\n" in build(SKILL, Task("Sell hay")).user_message


def test_the_format_of_the_output_is_reported() -> None:
    """The format of the task."""
    assert "- Format: html\n" in build(SKILL, Task("Sell hay", output=Output("a.html", "html"))).user_message


def test_over_the_limit_references_are_left_out_last_first_and_that_is_reported() -> None:
    """The body and the inputs always stay; 0 means no limit."""
    references = tuple(Reference(f"{n}.md", n * 4000) for n in "abc")
    skill = SkillContent("copy", "", "Body.", references)
    fits = build_prompt(skill, TASK, None, (), 0)
    assert fits.dropped == () and fits.system_prompt.count("## Reference") == 3
    two = build_prompt(skill, TASK, None, (), 2500)
    assert two.dropped == ("c.md",) and "(Left out because of their size: c.md.)" in two.system_prompt
    assert "c" * 4000 not in two.system_prompt and "b" * 4000 in two.system_prompt
    none = build_prompt(skill, TASK, None, (), 1)
    assert none.dropped == ("a.md", "b.md", "c.md") and none.system_prompt.startswith("Body.")


@given(st.text(), st.text(), st.text(), st.integers(0, 3))
def test_no_text_is_changed_or_breaks_it(body: str, context: str, content: str, revision: int) -> None:
    """Braces, percent signs, headings and marks are unchanged."""
    task = Task("Sell", body, revision=revision)
    built = build_prompt(SkillContent("s", "", body), task, context, [UpstreamOutput("p", "d", content)])
    assert built.system_prompt == body.strip()
    for text in (body, context, content):
        assert text.strip() in built.user_message


def test_a_resumed_writer_gets_only_the_revision() -> None:
    """Braces in the feedback are not replaced; a missing reason is stated."""
    assert "\n\nUse {name} and 5%.\n\n" in build_revision_prompt("Use {name} and 5%.\n")
    assert "no reason was given" in build_revision_prompt("  ")
