"""Reads page numbers such as 1,3-4."""


def parse_pages(text: str, count: int) -> list[int]:
    """Return page numbers from 1; raise ValueError for a page that does not exist."""
    pages: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        pages += range(int(first), int(last or first) + 1)
    wrong = [page for page in pages if not 1 <= page <= count]
    if wrong or not pages:
        raise ValueError(f"no page {wrong[0] if wrong else ''}: the PDF has {count} pages")
    return pages
