"""The example skills with the real claude in a sandbox: each script runs and produces its file."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pypdf
import pytest

from ostler.testing.fake_llm import Answer, FakeLlm, Request, Scripted, call, say
from real_claude import real_world
from world import World

SKILLS = Path(__file__).parents[2] / "examples" / "skills"
REPORT = {
    "title": "Hay sales",
    "sections": [
        {"heading": "Summary", "paragraphs": ["Sales rose in May."]},
        {"heading": "Findings", "table": {"columns": ["No", "Finding"], "rows": [[1, "Wet bales"]]}},
    ],
}


def shell(command: str) -> Answer:
    return call("Bash", command=command, description="x")


def skill_path(request: Request) -> str:
    """Return the directory of the skill that the prompt names."""
    found = re.search(r"in your working directory: (/[^\\\s]+/skill)", json.dumps(request.body))
    assert found, request.body
    return found[1]


def install(world: World, skill: str) -> None:
    """Copy an example, and give the project the Python environment of the tests."""
    shutil.copytree(SKILLS / skill, world.root / ".agents" / "skills" / skill)
    (world.root / ".venv").symlink_to(sys.prefix)
    world.environ |= {"OSTLER_SANDBOX__TIER": "bubblewrap", "PATH": "/usr/local/bin:/usr/bin:/bin"}


def produce(
    place: Path, skill: str, turns: list[Scripted], prepare: Callable[[Path], str]
) -> tuple[World, FakeLlm, str]:
    """Run one document task to its end; return the world, the model and the log."""
    with FakeLlm([*turns, say("The file is complete.")]) as llm:
        world = real_world(place, llm)
        install(world, skill)
        source = prepare(world.root)
        suffix = {"word-report": "docx", "pdf-extract": "pdf", "spreadsheet": "xlsx"}[skill]
        output = f"outputs/result.{suffix}"
        task = world.new(
            "Hay sales", "--skill", skill, "--input", source, "--output", output, "--executor", "claude"
        )
        world.ostler("run", task)
        shown, log = world.show(task), world.ostler("log", task, "--full").stdout
        world.close()
    assert (shown["status"], shown["output_path"]) == ("completed", output), shown
    assert shown["attempts"][0]["sandbox"]["tier"] == "bubblewrap"
    return world, llm, log


def write_notes(root: Path) -> str:
    (root / "notes.md").write_text("Sales rose in May. Some bales were wet.\n")
    return "notes.md"


def write_pdf(root: Path) -> str:
    writer = pypdf.PdfWriter()
    for width in (100, 200, 300):
        writer.add_blank_page(width=width, height=400)
    writer.write(root / "scan.pdf")
    return "scan.pdf"


def write_csv(root: Path) -> str:
    (root / "sales.csv").write_text("month,region,bales\nMay,north,12\nMay,south,3.5\nJune,north,8\n")
    return "sales.csv"


@pytest.mark.smoke
def test_word_report(tmp_path: Path) -> None:
    """It reads a nested reference, its script creates a .docx, and the skill and the inputs are read-only."""
    turns = [
        lambda request: call("Read", file_path=f"{skill_path(request)}/references/layouts/audit.md"),
        call("Write", file_path="report.json", content=json.dumps(REPORT)),
        shell("python3 skill/scripts/build_report.py report.json result.docx"),
        shell("skill/scripts/check_report.py result.docx"),
        shell("touch skill/x; chmod u+w skill/SKILL.md inputs/notes.md"),
    ]
    world, llm, log = produce(tmp_path, "word-report", turns, write_notes)
    document = docx.Document(str(world.root / "outputs/result.docx"))
    headings = [one.text for one in document.paragraphs if one.style.name.startswith(("Heading", "Title"))]
    assert headings == ["Hay sales", "Summary", "Findings"]
    assert [cell.text for cell in document.tables[0].rows[1].cells] == ["1", "Wet bales"]
    assert document.styles["Normal"].font.name == "Calibri"
    asked = json.dumps(llm.requests[0].body)
    for text in (
        "  layouts/",
        "    audit.md",
        "build_report.py",
        "Write the file result.docx in your working",
    ):
        assert text in asked
    assert "Put the findings in a table" in log and "Title: Hay sales" in log
    assert log.count("Read-only file system") == 3, log
    skill = (SKILLS / "word-report/SKILL.md").read_text()
    assert (world.root / ".agents/skills/word-report/SKILL.md").read_text() == skill


@pytest.mark.full
def test_pdf_extract(tmp_path: Path) -> None:
    """A binary input is in the working directory, and its pages are copied to the output."""
    turns = [
        shell("python3 skill/scripts/inspect_pdf.py inputs/scan.pdf"),
        call("Bash", command="cat skill/reference/kinds/contract.md skill/forms.md", description="x"),
        shell("python3 skill/scripts/extract_pages.py inputs/scan.pdf result.pdf 9"),
        shell("python3 skill/scripts/extract_pages.py inputs/scan.pdf result.pdf 1,3"),
    ]
    world, llm, log = produce(tmp_path, "pdf-extract", turns, write_pdf)
    result = pypdf.PdfReader(world.root / "outputs/result.pdf")
    assert [float(page.mediabox.width) for page in result.pages] == [100.0, 300.0]
    assert result.metadata is not None and result.metadata.producer == "pdf-extract"
    assert llm.requests[0].holds("This is a binary file")
    assert "invalid pages 9: no page 9: the PDF has 3 pages" in log


@pytest.mark.full
def test_spreadsheet(tmp_path: Path) -> None:
    """The workbook has the data as numbers, and formulas instead of computed sums."""
    turns = [
        shell("cat skill/references/sheets/*.md"),
        shell(
            "python3 skill/scripts/build_workbook.py inputs/sales.csv result.xlsx --group region --sum bales"
        ),
    ]
    world, _, _ = produce(tmp_path, "spreadsheet", turns, write_csv)
    book = openpyxl.load_workbook(world.root / "outputs/result.xlsx")
    assert [cell.value for cell in book["Data"][2]] == ["May", "north", 12]
    summary = [[cell.value for cell in row] for row in book["Summary"].iter_rows()]
    assert summary[0] == ["region", "bales"] and summary[3] == ["Total", "=SUM(B2:B3)"]
    assert summary[1] == ["north", "=SUMIF(Data!B$2:B$4,A2,Data!C$2:C$4)"]


@pytest.mark.full
def test_a_missing_file_fails_the_task(tmp_path: Path) -> None:
    """An agent that only describes the document has not written it; the message names what is there."""
    with FakeLlm([call("Write", file_path="other.docx", content="x"), say("Done.")]) as llm:
        world = real_world(tmp_path, llm)
        install(world, "word-report")
        task = world.new("Hay sales", "--skill", "word-report", "--executor", "claude")
        world.ostler("run", task, code=1)
        shown = world.show(task)
        world.close()
    assert (shown["status"], shown["code"]) == ("failed", "NO_RESULT")
    assert f"did not write the document {task}.docx" in shown["message"] and "other.docx" in shown["message"]
    assert not (world.root / "outputs").exists()
