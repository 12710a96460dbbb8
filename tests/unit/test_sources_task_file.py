"""Reading and writing tasks as Markdown files."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.front_matter import split_front_matter
from ostler.files.yaml_writer import write_yaml_value
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output, PipelineMember, Task
from ostler.prompt.task_text import write_task
from ostler.sources.task_file import TaskFile, read_task, read_task_file

NON_PRINTABLE = yaml.reader.Reader.NON_PRINTABLE
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
BODY = st.one_of(
    TEXT,
    st.lists(
        st.sampled_from(
            [
                "---",
                "# Goal",
                "## Requirements",
                "```",
                "a: b",
                "title: other",
                "",
                " ",
                "\r",
                "...",
                "\ufeff",
                "x",
            ]
        ),
        max_size=8,
    ).map("\n".join),
)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
WORDS = TEXT.filter(lambda text: not NON_PRINTABLE.search(text))  # what files.yaml accepts, escaped or not


def structs(kind: Any, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any value of the struct, so that new fields are covered."""
    fields = {field.name: known.get(field.name, values(field.type)) for field in msgspec.structs.fields(kind)}
    return st.fixed_dictionaries({}, optional=fields).map(
        lambda some: kind(**{name: some.get(name, "") for name in required(kind)} | some)
    )


def required(kind: Any) -> list[str]:
    return [field.name for field in msgspec.structs.fields(kind) if field.required]


def values(kind: Any) -> st.SearchStrategy[Any]:
    whole = st.integers(-(10**17), 10**17)
    simple = {str: WORDS, float: NUMBER, int: whole, TaskId: WORDS}
    if kind in simple:
        return simple[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return structs(kind)
    arguments = getattr(kind, "__args__", ())
    if getattr(kind, "__origin__", None) is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if type(None) in arguments:
        return st.one_of(st.none(), *(values(one) for one in arguments if one is not type(None)))
    return st.from_type(kind)


IDS = st.from_regex(r"[a-z0-9][a-z0-9-]{2,39}", fullmatch=True)
PROMPTS = st.dictionaries(
    st.sampled_from(["implement", "test", "test_e2e", "my-phase"]),
    st.sampled_from(["Do {{TASK_TITLE}}.", "{{#SPEC_CONTENT}}\n\tx: 1\n{{/SPEC_CONTENT}}\n", '---\n# "x"']),
)
TASKS = structs(Task, body=BODY, id=st.one_of(st.just(""), IDS), prompts=PROMPTS)
# abandoned is read as cancelled.
STATUSES = st.sampled_from([one for one in TaskStatus if one is not TaskStatus.ABANDONED])


@settings(deadline=None, max_examples=examples(300))
@given(TASKS, st.one_of(st.none(), STATUSES))
@example(Task("😀\u2028\x85\ufeff\r\n\t: #", "---\r\ntitle: no\r\n---\r\n", tags=("a,b", "")), None)
@example(Task("", "\n"), None)
@example(Task("x", "\r"), None)
@example(
    Task("x", inputs=(Input(""),), output=Output(), pipeline=PipelineMember("r", "s"), next=("complete",)),
    None,
)
@example(Task("x", not_before=1e300, budget_usd=5e-324), None)
@example(Task("x", not_before=1700000000.1234567, sender="null", model="~", skill="yes"), None)
def test_every_task_comes_back_the_same(task: Task, status: TaskStatus | None) -> None:
    """read_task reverses write_task for any task and any description."""
    text = write_task(task, status)
    assert read_task_file(text, "task.md") == TaskFile(task, status)
    assert write_task(read_task(text, "task.md"), status) == text


@settings(deadline=None)
@given(TASKS)
def test_other_readers_of_yaml_read_the_same(task: Task) -> None:
    """The front matter is plain YAML."""
    lines = write_task(task).split("\n")
    found = yaml.safe_load("\n".join(lines[1 : lines.index("---", 1)]))
    assert found["title"] == task.title
    assert found.get("from", "") == task.sender
    assert tuple(found.get("tags", ())) == task.tags


def test_a_written_task_is_pleasant_to_read() -> None:
    """Only values other than the defaults, readable times, and one line per input."""
    task = Task(
        "Mend the gate",
        "# Why\n\nIt squeaks.",
        id=TaskId("mend-the-gate-ab12"),
        not_before=1893456000.0,
        inputs=(Input("a.md", "The plan"), Input("b.md", optional=True)),
        sender="director",
        tags=("gate", "oil"),
    )
    assert write_task(task, TaskStatus.PENDING) == (
        "---\n"
        'title: "Mend the gate"\n'
        'id: "mend-the-gate-ab12"\n'
        'not_before: "2030-01-01T00:00:00+00:00"\n'
        "inputs:\n"
        '  - {path: "a.md", description: "The plan"}\n'
        '  - {path: "b.md", optional: true}\n'
        'from: "director"\n'
        'tags: ["gate", "oil"]\n'
        'status: "pending"\n'
        "---\n\n# Why\n\nIt squeaks.\n"
    )
    assert write_task(Task("Oil it")) == '---\ntitle: "Oil it"\n---\n'


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# Mend the gate\n\nIt squeaks.\n", "Mend the gate", "It squeaks."),
        ("Oil the hinge\n\nTwice.", "Oil the hinge", "Twice."),
        ("\ufeff\r\n## Oil it ##\r\nTwice.\r\n", "Oil it ##", "Twice."),
        ("One line", "One line", ""),
        ("# Rule\n\n---\n\nbelow: it\n---\n", "Rule", "---\n\nbelow: it\n---"),
        ("---\nweight: large\n---\n\n# Heading\n\nText\n", "Heading", "Text"),
        ("\ufeff---\r\ngoal: Gate\r\n---\r\n\r\nA\r\nB\r\n", "Gate", "A\r\nB"),
        ("---\ntitle: Gate\n---\n# Goal\n\n---\ntitle: x\n---\n", "Gate", "# Goal\n\n---\ntitle: x\n---"),
        ("---\ngoal: Gate\nrequirements: |\n  ## Goal\n  Oil\n---\n\n\n", "Gate", "## Goal\nOil"),
    ],
)
def test_title_and_description(text: str, title: str, body: str) -> None:
    """The title is a key or the first line; the rest is the description."""
    found = read_task(text, "task.md")
    assert (found.title, found.body) == (title, body)


def test_a_given_title_leaves_the_text_whole() -> None:
    """An explicit title leaves the heading in the description; a title in the front matter has precedence."""
    assert read_task_file("# A\n\nB\n", "-", "Given").task == Task("Given", "# A\n\nB\n")
    assert read_task_file("---\ntitle: Own\n---\nB\n", "-", "Given").task == Task("Own", "B")


SEED_TASK = """---
id: copywriting-20260212-a1b2c3
createdAt: 2026-02-12T10:00:00Z
updatedAt: 2026-02-12T10:00:00Z
from: director
to: copywriting
priority: p1
deadline: null
status: in_review
revisionCount: 2
goalId: goal-1
pipelineId: launch
goal: Write the launch page
inputs:
  - path: context/product.md
    description: The product
  - outputs/strategy/plan.md
output:
  path: outputs/creative/copywriting/x.md
  format: markdown
next:
  type: agent
  skill: page-cro
tags: [launch, page]
metadata: {anything: [goes]}
agentConfig:
  modelTier: opus
  timeoutMs: 90000
  maxRetries: 0
---

## Goal

Short, and true.
"""


def test_a_task_of_the_marketing_seed_is_read() -> None:
    """The spellings of other programs are accepted; unused keys are noted."""
    found = read_task_file(SEED_TASK, "tasks/x.md")
    assert found.task == Task(
        "Write the launch page",
        "## Goal\n\nShort, and true.",
        id=TaskId("copywriting-20260212-a1b2c3"),
        priority="P1",
        skill="copywriting",
        inputs=(Input("context/product.md", "The product"), Input("outputs/strategy/plan.md")),
        output=Output("outputs/creative/copywriting/x.md"),
        sender="director",
        revision=2,
        next=("page-cro",),
        tags=("launch", "page"),
        tier="opus",
        timeout_seconds=90.0,
        max_retries=0,
    )
    assert found.status is TaskStatus.NEEDS_REVIEW
    assert [note.partition(" ")[0] for note in found.notes] == [
        f"tasks/x.md:{line}:" for line in (3, 4, 11, 12, 25)
    ]


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("tags: a, b", "tags", ("a", "b")),
        ("phases: implement", "phases", ("implement",)),
        ("depends-on: [first-ab12]", "after", ("first-ab12",)),
        ("dependsOn: first-ab12", "after", ("first-ab12",)),
        ("priority: 0", "priority", "P0"),
        ("weight: Large", "weight", "large"),
        ("not-before: 2030-01-01T00:00Z", "not_before", 1893456000.0),
        ("notBefore: 12.5", "not_before", 12.5),
        ("scheduledFor: 2030-01-01T00:00Z", "not_before", 1893456000.0),
        ("inputs: a.md", "inputs", (Input("a.md"),)),
        ("output: a.md", "output", Output("a.md")),
        ("next: complete", "next", ()),
        ("next: {type: pipeline_continue, pipelineId: x}", "next", ()),
        ("next: [a, b]", "next", ("a", "b")),
        ("modelTier: haiku", "tier", "haiku"),
        ("timeout_ms: 1500", "timeout_seconds", 1.5),
        ("budget-usd: 2", "budget_usd", 2.0),
        ("skill: ~", "skill", ""),
        ("from: scheduler", "sender", "scheduler"),
    ],
)
def test_other_spellings(line: str, field: str, value: object) -> None:
    """Each key can be spelled as in the seeds, in YAML or on the command line."""
    assert getattr(read_task(f"---\ntitle: x\n{line}\n---\n", "t.md"), field) == value


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        ("titel: x", "t.md:3: unknown key 'titel'; did you mean title?"),
        ("maxRetry: 1", "t.md:3: unknown key 'maxRetry'; did you mean max_retries?"),
        ("zzz: 1", "t.md:3: unknown key 'zzz'"),
        ("priority: P9", "t.md:3: priority: must be one of P0, P1, P2, P3"),
        ("goal: y", "t.md:3: goal and title mean the same; keep one"),
        (
            "description: y",
            "t.md:3: description: the file also has a description below the front matter",
        ),
        ("model: 4", "t.md:3: model: expected str, got int"),
        ("inputs:\n  - {pth: a}", "t.md:4: unknown key 'pth'; did you mean path?"),
        ("output:\n  path: a\n  fromat: b", "t.md:5: unknown key 'fromat'; did you mean format?"),
        ("agentConfig: {modelTeir: x}", "t.md:3: unknown key 'modelTeir'; did you mean model_tier?"),
        ("not_before: soon", "t.md:3: not_before is not a time; use 18:30, 2030-01-31 or 2030-01-31T18:30Z"),
        ("timeout_ms: soon", "t.md:3: timeout_ms must be a number of milliseconds"),
        ("next: {type: director_review}", "t.md:3: next must be a skill; use `review: human`"),
        ("id: ../../etc", "t.md:3: id: invalid task id '../../etc'; use 3 to 40 lowercase"),
        ('model: "a\\0b"', "t.md:3: unprintable character"),
        ("status: halfway", "t.md:3: status: must be one of pending"),
        ("tags: [a]\ntags: [b]", "t.md:4: 'tags' is given twice"),
        ("tags: *a", "t.md:3: aliases and tags are not allowed"),
        ("tags: [", "t.md:"),
    ],
)
def test_mistakes_name_their_line(lines: str, reported: str) -> None:
    """An error has the file, the line and a suggestion."""
    with pytest.raises(OstlerError) as caught:
        read_task(f"---\ntitle: x\n{lines}\n---\nbody\n", "t.md")
    assert caught.value.code is Code.CONFIG_INVALID
    assert reported in caught.value.message


def test_all_mistakes_are_reported_at_once() -> None:
    """All errors are reported at once."""
    with pytest.raises(OstlerError) as caught:
        read_task("---\ntitel: x\nwight: small\npriority: soon\n---\nbody\n", "t.md")
    assert [line.partition(": ")[0] for line in caught.value.message.splitlines()] == [
        "t.md:2",
        "t.md:3",
        "t.md:4",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff", "#", "---\nweight: small\n---\n", "---\n---\n"])
def test_a_task_needs_a_title(text: str) -> None:
    """A file with neither a title nor a first line."""
    with pytest.raises(UsageError, match=r"t\.md has no first line"):
        read_task(text, "t.md")


@settings(deadline=None)
@given(st.one_of(TEXT, BODY).map(lambda text: f"---\n{text}"))
def test_any_text_is_a_task_or_a_clear_refusal(text: str) -> None:
    """Any file gives a task or an OstlerError."""
    try:
        assert isinstance(read_task(text, "t.md"), Task)
    except OstlerError as error:
        assert error.message


@given(WORDS)
def test_any_text_survives_a_yaml_line(text: str) -> None:
    """Quoted text is unchanged, also beyond U+FFFF."""
    line = write_yaml_value(text)
    assert line.isprintable()
    assert yaml.safe_load(line) == text
    assert split_front_matter(f"---\na: {line}\n---\n", "x").values == {"a": text}
