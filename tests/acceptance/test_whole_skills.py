"""Documents of skills with nested files, of agents that write files, and of model APIs that only answer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from document_world import DocumentWorld, system_of
from ostler.testing.fake_llm import FakeLlm, call, say

WRITER = """
[executors.writer]
type = "command"
command = "sh"
args = ["{script}", "{{prompt_file}}"]
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DocumentWorld]:
    made = DocumentWorld(tmp_path)
    yield made
    made.close()


def add_files(world: DocumentWorld, skill: str = "research") -> None:
    folder = world.root / ".agents/skills" / skill
    (folder / "references/advisors").mkdir(parents=True)
    (folder / "references/advisors/farm.md").write_text("Ask the farmers first.")
    (folder / "logo.png").write_bytes(b"\x89PNG\0")
    (folder / "outside.md").symlink_to("/etc/passwd")


def use_program(world: DocumentWorld, script: str) -> None:
    """Let a shell script write the documents; its first argument is the file with the prompt."""
    path = world.root.parent / "writer.sh"
    path.write_text(script)
    settings = WRITER.format(script=path) + '[documents]\nexecutor = "writer"\n'
    (world.root / "ostler.toml").write_text(settings)


def write_with(world: DocumentWorld, script: str, *args: str, code: int = 0) -> str:
    use_program(world, script)
    task = world.new("Who buys hay", "--skill", "research", *args)
    world.ostler("run", task, code=code)
    return task


@pytest.mark.full
def test_a_model_reads_a_nested_file_with_a_tool(world: DocumentWorld) -> None:
    """The prompt has the tree; the file is read on request; a link out and a binary file are refused."""
    add_files(world)
    turns = [
        call("read_skill_file", path="references/advisors/farm.md"),
        call("read_skill_file", path="outside.md"),
        call("read_skill_file", path="logo.png"),
        call("read_file", path="README.md"),
        say("Farmers buy it."),
    ]
    with FakeLlm(turns) as llm:
        world.asks(llm)
        task = world.new("Who buys hay", "--skill", "research")
        world.ostler("run", task)
    shown, system = world.show(task), system_of(llm.requests[0])
    assert (shown["status"], (world.root / shown["output_path"]).read_text()) == (
        "completed",
        "Farmers buy it.",
    )
    assert "    farm.md" in system and "- outside.md: a symbolic link that leaves" in system
    assert [tool["function"]["name"] for tool in llm.requests[0].body["tools"]] == ["read_skill_file"]
    results = json.dumps(llm.requests[-1].body["messages"])
    assert "Ask the farmers first." in results and "'outside.md' does not exist in this skill" in results
    assert "logo.png is a binary file: it cannot be read as text" in results and "unknown tool" in results
    assert "outside.md is a symbolic link" in shown["warnings"][0]


def test_a_skill_without_more_files_offers_no_tool(world: DocumentWorld) -> None:
    """Its prompt is that of the seed."""
    with FakeLlm([say("Farmers.")]) as llm:
        world.asks(llm)
        world.ostler("run", world.new("Who buys hay", "--skill", "research"))
    assert "tools" not in llm.requests[0].body
    assert "Files of this skill" not in system_of(llm.requests[0])


def test_a_program_finds_skill_and_inputs_and_writes_its_file(world: DocumentWorld) -> None:
    """The file is copied byte for byte, and the one that it replaces is kept."""
    add_files(world)
    (world.root / "scan.pdf").write_bytes(b"%PDF-1.4 \0\xff")
    (world.root / "outputs").mkdir()
    (world.root / "outputs/x.docx").write_bytes(b"old\0")
    script = (
        'grep -q "This is a binary file" "$1" || exit 9\ncat inputs/scan.pdf > x.docx\n'
        "cat skill/references/advisors/farm.md >> x.docx\ntest ! -e skill/outside.md || exit 8\n"
        "test ! -w skill/SKILL.md -o $(id -u) = 0 || exit 7\necho written"
    )
    task = write_with(world, script, "--output", "outputs/x.docx", "--input", "scan.pdf")
    assert world.show(task)["output_path"] == "outputs/x.docx"
    assert (world.root / "outputs/x.docx").read_bytes() == b"%PDF-1.4 \0\xffAsk the farmers first."
    assert (world.root / ".ostler/tasks" / task / "replaced.docx").read_bytes() == b"old\0"
    copies = world.root / ".ostler/desks" / task / "desk"
    assert {oct(path.stat().st_mode & 0o777) for path in (copies / "skill").rglob("*.md")} == {"0o444"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo done", "there is no .docx file"),
        ("echo x > y.docx; echo done", "it wrote y.docx instead"),
        (": > x.docx; echo done", "x.docx is empty"),
        ("ln -s /etc/passwd x.docx; echo done", "crosses a symbolic link"),
        ("mkdir x.docx; echo done", "not a regular file"),
    ],
)
@pytest.mark.sampled(2)
def test_without_the_file_the_task_fails(world: DocumentWorld, script: str, reason: str) -> None:
    """NO_RESULT names the file and what is there instead; the project is unchanged."""
    task = write_with(world, script, "--output", "outputs/x.docx", code=1)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("failed", "NO_RESULT")
    assert "did not write the document x.docx" in shown["message"] and reason in shown["message"]
    assert not (world.root / "outputs").exists()


@pytest.mark.parametrize(
    ("script", "content"),
    [("printf 'a,b\\r\\n' > x.csv; echo summary", b"a,b\r\n"), ("printf 'c,d'", b"c,d")],
)
def test_a_text_is_a_file_or_the_answer(world: DocumentWorld, script: str, content: bytes) -> None:
    """The file counts if the program wrote one; both are written byte for byte."""
    write_with(world, script, "--output", "outputs/x.csv")
    assert (world.root / "outputs/x.csv").read_bytes() == content


@pytest.mark.one_machine("in a cluster a worker starts the task, and records that its agent cannot write it")
def test_a_model_cannot_write_a_file(world: DocumentWorld) -> None:
    """A run is refused before it starts, with what to do."""
    with FakeLlm([say("x")]) as llm:
        world.asks(llm)
        task = world.new("Who buys hay", "--skill", "research", "--output", "outputs/x.docx")
        done = world.ostler("run", task, code=2)
    assert "model_api answers with text and cannot write outputs/x.docx" in done.stderr
    assert "--executor claude" in done.stderr and not llm.requests
    assert world.show(task)["status"] == "pending"
    world.skill("sheets", "name: sheets\ndescription: x\nmetadata:\n  output: xlsx", "Make sheets.")
    with FakeLlm([say("x")]) as llm:
        world.asks(llm)
        done = world.ostler("new", "Hay", "--skill", "sheets")
    assert "model_api answers with text and cannot write a .xlsx file" in done.stderr


def test_a_rejected_file_is_changed(world: DocumentWorld) -> None:
    """The writer finds its file and the reason; the new version replaces the document."""
    use_program(world, 'grep -cE "not enough|previous version is the file x.docx" "$1" >> x.docx; echo ok')
    task = world.new("Hay", "--skill", "research", "--output", "outputs/x.docx", "--review", "human")
    world.ostler("run", task, code=4)
    assert (world.root / "outputs/x.docx").read_text() == "0\n"
    world.ostler("reject", task, "-m", "not enough")
    world.ostler("run", task, code=4)
    assert (world.root / "outputs/x.docx").read_text() == "0\n2\n"


def test_a_skill_that_changes_is_copied_again(world: DocumentWorld) -> None:
    """Each call has the current files, whatever an earlier agent did with its copy."""
    add_files(world)
    script = (
        "cat skill/references/advisors/farm.md > x.docx; rm -rf skill 2>/dev/null; "
        "chmod -R u+w skill 2>/dev/null; rm -rf skill; ln -s /etc skill; echo ok"
    )
    use_program(world, script)
    task = world.new("Hay", "--skill", "research", "--output", "outputs/x.docx", "--review", "human")
    world.ostler("run", task, code=4)
    (world.root / ".agents/skills/research/references/advisors/farm.md").write_text("New.")
    world.ostler("reject", task, "-m", "again")
    world.ostler("run", task, code=4)
    assert (world.root / "outputs/x.docx").read_text() == "New."
    assert os.path.exists("/etc/passwd")


def test_the_environment_of_the_project_is_first_in_path(world: DocumentWorld) -> None:
    """Scripts of a skill find the packages of .venv without a sandbox too."""
    folder = world.root / ".venv/bin"
    folder.mkdir(parents=True)
    for name in ("python", "python3"):
        (folder / name).write_text("#!/bin/sh\necho of-the-project\n")
        (folder / name).chmod(0o755)
    write_with(world, "python3 > x.docx; echo ok", "--output", "outputs/x.docx")
    assert (world.root / "outputs/x.docx").read_text() == "of-the-project\n"


TIERS = '[tiers]\nsonnet = "mine"\nhaiku = "small"\n'


@pytest.mark.parametrize(
    ("settings", "args", "model"),
    [
        (TIERS, (), "mine"),
        (TIERS, ("--tier", "haiku"), "small"),
        (f'{TIERS}[documents]\ntier = "haiku"\n', (), "small"),
        (f'{TIERS}[run]\nmodel = "haiku"\n', (), "small"),
        (f'{TIERS}[run]\nmodel = "some-claude"\n', (), "mine"),
        (f'{TIERS}[run]\nexecutor = "model_api"\nmodel = "other"\n', (), "other"),
        (TIERS, ("--model", "exact"), "exact"),
        ("", (), "claude-sonnet-4-6"),
    ],
)
@pytest.mark.sampled(1)
def test_one_resolution_of_tiers(
    world: DocumentWorld, settings: str, args: tuple[str, ...], model: str
) -> None:
    """[tiers] applies to the default tier as to a named one."""
    (world.root / "ostler.toml").write_text(settings)
    with FakeLlm([say("Farmers.")]) as llm:
        world.environ |= {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": llm.url}
        world.ostler("run", world.new("Who buys hay", "--skill", "research", *args))
    assert llm.requests[0].model == model


def test_an_unknown_tier_is_refused(world: DocumentWorld) -> None:
    """With the nearest one; nothing is added."""
    done = world.ostler("new", "Hay", "--skill", "research", "--tier", "sonet", code=2)
    assert "unknown tier 'sonet': expected one of opus, sonnet, haiku" in done.stderr
    assert "did you mean sonnet?" in done.stderr and world.json("status")["tasks"] == []


def test_the_foundation_skill_of_the_seed_is_one_by_default(world: DocumentWorld) -> None:
    """product-marketing-context writes a context file without any setting."""
    name = "product-marketing-context"
    world.skill(name, f"name: {name}\ndescription: x", "Describe the product.")
    assert world.json("skills", "show", name)["output"] == f"context/{name}.md"


def test_marks_inside_a_document_are_kept(world: DocumentWorld) -> None:
    """Byte for byte: only the mark at the very end is taken off."""
    text = "```\n<phase_complete>true</phase_complete>\n```\r\n<x_complete>true</x_complete> stays.\n"
    with FakeLlm([say(f"{text}<phase_complete>true</phase_complete>")]) as llm:
        world.asks(llm)
        task = world.new("Who buys hay", "--skill", "research")
        world.ostler("run", task)
    assert (world.root / world.show(task)["output_path"]).read_bytes() == text.encode()


@pytest.mark.full
@pytest.mark.parametrize("suffix", ["xlsx", "csv"])
def test_a_rejected_file_that_did_not_change_is_not_reviewed_as_a_new_one(
    world: DocumentWorld, suffix: str
) -> None:
    """The next call is asked to change the file, and its reviewer sees that it is the rejected one."""
    output = f"outputs/prices.{suffix}"
    file = f"prices.{suffix}"
    script = f'cp "$1" {world.root.parent}/prompt; [ -e {file} ] || echo Hay > {file}; echo Done.'
    task = write_with(world, script, "--output", output, "--review", "human", code=4)
    assert "NO_CHANGES" not in world.show(task)["warnings"]
    world.ostler("reject", task, "-m", "Name the price.")
    world.ostler("run", task, code=4)
    assert f"the file {file} in your working directory" in (world.root.parent / "prompt").read_text()
    assert (world.root / output).read_text() == "Hay\n"
    view = world.show(task)
    assert "NO_CHANGES" in view["warnings"]
    assert "still the one that was rejected" in view["message"]
    use_program(world, f"echo Hay 4.50 > {file}; echo Done.")
    world.ostler("reject", task, "-m", "Name the price!")
    world.ostler("run", task, code=4)
    assert "NO_CHANGES" not in world.show(task)["warnings"]
