#!/usr/bin/env python3
"""Write chosen pages to a new PDF: extract_pages.py INPUT.pdf OUTPUT.pdf 1,3-4"""

# /// script
# requires-python = ">=3.9"
# dependencies = ["pypdf"]
# ///

import json
import sys
from pathlib import Path

from page_ranges import parse_pages
from pypdf import PdfReader, PdfWriter

METADATA = Path(__file__).parent.parent / "assets" / "metadata.json"


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit("usage: extract_pages.py INPUT.pdf OUTPUT.pdf PAGES")
    reader, writer = PdfReader(sys.argv[1]), PdfWriter()
    try:
        pages = parse_pages(sys.argv[3], len(reader.pages))
    except ValueError as error:
        sys.exit(f"invalid pages {sys.argv[3]}: {error}")
    for page in pages:
        writer.add_page(reader.pages[page - 1])
    writer.add_metadata(json.loads(METADATA.read_text("utf-8")))
    writer.write(sys.argv[2])
    print(f"wrote {sys.argv[2]}: {len(pages)} pages")


if __name__ == "__main__":
    main()
