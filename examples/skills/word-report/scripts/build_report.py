#!/usr/bin/env python3
"""Create a Word document from report.json: build_report.py REPORT.json OUTPUT.docx"""

# /// script
# requires-python = ">=3.9"
# dependencies = ["python-docx"]
# ///

import json
import sys
from pathlib import Path

from docx import Document
from docx.shared import Pt, RGBColor

THEME = Path(__file__).parent.parent / "assets" / "theme.json"


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: build_report.py REPORT.json OUTPUT.docx")
    report, theme = json.loads(Path(sys.argv[1]).read_text("utf-8")), json.loads(THEME.read_text("utf-8"))
    document = Document()
    style = document.styles["Normal"]
    style.font.name, style.font.size = theme["font"], Pt(theme["size"])
    document.core_properties.title = report["title"]
    document.add_heading(report["title"], 0)
    for section in report["sections"]:
        add_section(document, section, theme)
    document.save(sys.argv[2])
    print(f"wrote {sys.argv[2]}: {len(report['sections'])} sections")


def add_section(document, section: dict, theme: dict) -> None:
    heading = document.add_heading(section["heading"], 1)
    for run in heading.runs:
        run.font.color.rgb = RGBColor.from_string(theme["accent"])
    for text in section.get("paragraphs", []):
        document.add_paragraph(text)
    if table := section.get("table"):
        add_table(document, table, theme)


def add_table(document, table: dict, theme: dict) -> None:
    made = document.add_table(rows=1, cols=len(table["columns"]), style=theme["table_style"])
    for row in (table["columns"], *table["rows"]):
        cells = made.rows[0].cells if row is table["columns"] else made.add_row().cells
        for number, value in enumerate(row):
            cells[number].text = str(value)


if __name__ == "__main__":
    main()
