#!/usr/bin/env python3
"""Print the text of each page as JSON lines, then the form fields: inspect_pdf.py INPUT.pdf"""

# /// script
# requires-python = ">=3.9"
# dependencies = ["pypdf"]
# ///

import json
import sys

from pypdf import PdfReader


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: inspect_pdf.py INPUT.pdf")
    reader = PdfReader(sys.argv[1])
    for number, page in enumerate(reader.pages, 1):
        print(json.dumps({"page": number, "text": page.extract_text()}))
    if fields := reader.get_form_text_fields():
        print(json.dumps({"fields": fields}))


if __name__ == "__main__":
    main()
