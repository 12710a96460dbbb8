#!/usr/bin/env python3
"""Create a workbook from CSV: build_workbook.py INPUT.csv OUTPUT.xlsx --group COLUMN --sum COLUMN"""

# /// script
# requires-python = ">=3.9"
# dependencies = ["openpyxl"]
# ///

import argparse
import csv
import json
from pathlib import Path

from openpyxl import Workbook
from openpyxl.styles import Font, PatternFill
from openpyxl.utils import get_column_letter

STYLE = json.loads((Path(__file__).parent.parent / "templates" / "style.json").read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--group", required=True)
    parser.add_argument("--sum", required=True)
    options = parser.parse_args()
    with Path(options.input).open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    for name in (options.group, options.sum):
        if name not in header:
            parser.error(f"no column {name}: expected one of {', '.join(header)}")
    book = Workbook()
    add_data(book.active, header, rows)
    groups = sorted({row[header.index(options.group)] for row in rows})
    add_summary(book.create_sheet("Summary"), header, groups, options, len(rows) + 1)
    book.save(options.output)
    print(f"wrote {options.output}: {len(rows)} rows, {len(groups)} groups")


def add_data(sheet, header, rows) -> None:
    sheet.title, sheet.freeze_panes = "Data", "A2"
    sheet.append(header)
    for row in rows:
        sheet.append([to_number(value) for value in row])
    format_header(sheet, len(header))


def add_summary(sheet, header, groups, options, last: int) -> None:
    keys, values = (get_column_letter(header.index(name) + 1) for name in (options.group, options.sum))
    sheet.append([options.group, options.sum])
    for number, group in enumerate(groups, 2):
        formula = f"=SUMIF(Data!{keys}$2:{keys}${last},A{number},Data!{values}$2:{values}${last})"
        sheet.append([group, formula])
    sheet.append(["Total", f"=SUM(B2:B{len(groups) + 1})"])
    for (cell,) in sheet.iter_rows(2, None, 2, 2):
        cell.number_format = STYLE["number_format"]
    format_header(sheet, 2)


def format_header(sheet, columns: int) -> None:
    for number in range(1, columns + 1):
        cell = sheet.cell(1, number)
        cell.font, cell.fill = Font(bold=True), PatternFill("solid", fgColor=STYLE["header_fill"])
        sheet.column_dimensions[get_column_letter(number)].width = STYLE["column_width"]


def to_number(text: str):
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


if __name__ == "__main__":
    main()
