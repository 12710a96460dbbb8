#!/usr/bin/env python3
"""Print the headings of a Word document; fail if it has no text: check_report.py OUTPUT.docx"""

# /// script
# requires-python = ">=3.9"
# dependencies = ["python-docx"]
# ///

import sys

from docx import Document


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: check_report.py OUTPUT.docx")
    paragraphs = [one for one in Document(sys.argv[1]).paragraphs if one.text.strip()]
    if not paragraphs:
        sys.exit(f"{sys.argv[1]} has no text")
    for one in paragraphs:
        if one.style.name.startswith(("Heading", "Title")):
            print(f"{one.style.name}: {one.text}")


if __name__ == "__main__":
    main()
