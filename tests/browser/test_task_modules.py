"""The pure modules of the task page, each alone in a browser without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

import ostler.web

pytestmark = pytest.mark.full

STATIC = Path(ostler.web.__file__).parent / "static"
ORIGIN = "http://127.0.0.1"
LINEAR_MS = 8000  # a tenth of it is usual; quadratic time takes minutes
SHAPE = """async ([module, name, args]) => {
  const made = (await import(`/static/js/${module}.js`))[name](...args);
  return made instanceof Element ? made.innerHTML : made;
}"""
TIMED = """async (texts) => {
  const { markdown } = await import("/static/js/markdown.js");
  const time = (text) => { const at = performance.now(); markdown(text); return performance.now() - at; };
  return texts.map(time);
}"""
# A log of lines of very different lengths, read backwards page by page from its end to its beginning.
BACKWARDS = """async () => {
  const { LogReader } = await import("/static/js/task/log_reader.js");
  const lines = Array.from({ length: 5000 }, (_, at) => 30 + ((at * 7919) % 97 === 0 ? 90000 : at % 50));
  const offsets = lines.reduce((all, size) => [...all, all.at(-1) + size], [0]);
  const read = async (offset, limit) => {
    const first = offsets.findIndex((one) => one >= offset);
    const last = Math.min(first + limit, lines.length);
    const entries = offsets.slice(first, last).map((one, at) => ({ offset: one, at: first + at }));
    return { size: offsets.at(-1), start: offsets[first], next: offsets[last], entries };
  };
  const reader = new LogReader(read);
  const seen = [];
  for (let start = offsets.at(-1); start > 0; ) {
    const page = await reader.before(start);
    seen.unshift(...page.entries.map((entry) => entry.offset));
    start = page.start;
  }
  const found = await reader.offsetAt(1234, offsets.at(-1));
  return [seen.join() === offsets.slice(0, -1).join(), found === offsets[1234]];
}"""
MARKDOWN = {
    "# A `b`": '<h3 class="md-heading" data-level="1">A <code>b</code></h3>',
    "a **b *c*** d": "<p>a <strong>b <em>c</em></strong> d</p>",
    "a \u202ecba\u2069 `\u200b`": "<p>a [U+202E]cba[U+2069] <code>[U+200B]</code></p>",
    "snake_case_name and __init__": "<p>snake_case_name and <strong>init</strong></p>",
    "- a\n  - b\n- c": '<ul><li><p class="md-tight">a</p><ul><li><p class="md-tight">b</p></li></ul></li>'
    '<li><p class="md-tight">c</p></li></ul>',
    "3. x": '<ol start="3"><li><p class="md-tight">x</p></li></ol>',
    "> a\n> b": "<blockquote><p>a\nb</p></blockquote>",
    "a\n***\nb": "<p>a</p><hr><p>b</p>",
    "```py\n<b>\n": '<figure class="md-code"><figcaption class="md-language">py</figcaption>'
    '<pre tabindex="0"><code data-language="py">&lt;b&gt;\n</code></pre></figure>',
    "|a|b|\n|-|-:|\n|1|2|": '<div class="md-table"><table>'
    '<thead><tr><th>a</th><th class="md-right">b</th></tr></thead><tbody>'
    '<tr><td>1</td><td class="md-right">2</td></tr></tbody></table></div>',
    "[x](javascript:alert(1))": '<p><span title="javascript:alert(1">x</span>)</p>',
    "<img src=x onerror=alert(1)>": "<p>&lt;img src=x onerror=alert(1)&gt;</p>",
    "see https://a.example/b.": '<p>see <a href="https://a.example/b" target="_blank" '
    'rel="noopener noreferrer">https://a.example/b</a>.</p>',
}
HOSTILE = (
    "*a ",
    "[",
    "[a](",
    "`",
    "`` ` ",
    "> ",
    "- ",
    "  - a\n",
    "|",
    "|-",
    "**",
    "_a_",
    "~~",
    "#",
    "\\",
    "http://",
)


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    """An empty page that can load the static files."""
    context = chromium.new_context()
    context.route("**/*", _give)
    made = context.new_page()
    made.goto(ORIGIN)
    yield made
    context.close()


def _give(route: Route) -> None:
    path = route.request.url.removeprefix(f"{ORIGIN}/static/")
    if path == route.request.url:
        route.fulfill(body="<!doctype html>", content_type="text/html")
    else:
        route.fulfill(path=STATIC / path)


def _call(page: Page, module: str, name: str, *args: object) -> Any:
    return page.evaluate(SHAPE, [module, name, list(args)])


@pytest.mark.parametrize("text", MARKDOWN)
def test_markdown_becomes_these_nodes(text: str, page: Page) -> None:
    """The Markdown of agents is built as nodes; active content is text."""
    assert _call(page, "markdown", "markdown", text) == MARKDOWN[text]


def test_hostile_markdown_takes_linear_time(page: Page) -> None:
    """Two hundred thousand characters of any mark, never closed, are parsed at once."""
    took = page.evaluate(TIMED, [mark * (200_000 // len(mark)) for mark in HOSTILE])
    assert {mark: ms for mark, ms in zip(HOSTILE, took, strict=True) if ms > LINEAR_MS} == {}


def test_an_edit_keeps_what_both_have(page: Page) -> None:
    """Only the lines that differ are removed and added."""
    lines = _call(page, "task/patch", "editLines", "a\nb\nc\nd\n", "a\nx\nc\ny\nd\n")
    signs = {"same": " ", "removed": "-", "added": "+"}
    assert [signs[line["kind"]] + line["text"] for line in lines] == [" a", "-b", "+x", " c", "+y", " d"]


def test_a_night_is_folded_and_the_rest_is_to_scale(page: Page) -> None:
    """A long gap takes a small, fixed part; positions and times convert to each other."""
    scale = _call(page, "task/scale", "makeScale", [[0, 100], [30_000, 30_100]], 0, 30_100)
    assert [piece["folded"] for piece in scale] == [False, True, False]
    assert scale[1]["width"] == pytest.approx(0.05)
    assert scale[0]["width"] == pytest.approx(scale[2]["width"])
    for time in (0, 40, 100, 30_050, 30_100):
        place = _call(page, "task/scale", "placeOf", scale, time)
        assert _call(page, "task/scale", "timeAt", scale, place) == pytest.approx(time)


def test_a_log_is_read_backwards_without_a_gap(page: Page) -> None:
    """For short and long lines: every entry once, in order; a time is found by bisection."""
    assert page.evaluate(BACKWARDS) == [True, True]
