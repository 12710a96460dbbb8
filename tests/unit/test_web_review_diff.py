"""The changes of the review page as data: patches, rows, words and colours."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from git_world import World, git
from js_modules import call, evaluate

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")

PATCH = """\
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -11,5 +11,6 @@ def f():
 one
 two
-three = old(1)
+three = new(1)
+++ four
 five
\\ No newline at end of file
"""
ROWS = """
const { FileLines } = await load("review/diff/file_lines.js");
const { readHunks } = await load("review/diff/patch.js");
const { rowsOf } = await load("review/diff/rows.js");
const lines = new FileLines(readHunks(args[0]));
const text = (line) => line && line.text;
const show = (row) => row.type === "gap" ? ["gap", row.item.now, row.item.count]
  : row.type === "line" ? [row.line.old, row.line.now, row.line.text] : [text(row.left), text(row.right)];
return rowsOf(lines.items, args[1]).map(show);
"""
REVEAL = """
const { FileLines } = await load("review/diff/file_lines.js");
const { readHunks } = await load("review/diff/patch.js");
const lines = new FileLines(readHunks(args[0]));
const gaps = () => lines.items.filter((item) => item.type === "gap");
const texts = args[1];
lines.setTotal(texts.length);
const out = [gaps().map((gap) => [gap.now, gap.count])];
for (const [index, how] of args[2]) {
  lines.reveal(gaps()[index], how, texts);
  out.push(gaps().map((gap) => [gap.now, gap.count]));
}
const shown = lines.items.filter((item) => item.type === "line" && item.now !== null);
return { out, right: shown.every((line) => line.kind !== "same" || texts[line.now - 1] === line.text) };
"""
COLOURS = """
const { default: hljs } = await import(args[0] + "/es/core.min.js");
const { default: grammar } = await import(args[0] + "/es/languages/python.min.js");
const { rangesOfMarkup } = await load("review/diff/markup_ranges.js");
hljs.registerLanguage("python", grammar);
const ranges = rangesOfMarkup(hljs.highlight(args[1], { language: "python" }).value);
const texts = args[1].split("\\n");
const named = (flat, text) => flat.flatMap((start, at) =>
  at % 3 ? [] : [[text.slice(start, flat[at + 1]), flat[at + 2]]]);
return ranges.map((flat, at) => named(flat, texts[at]));
"""


def _patch(world: World, old: dict[str, str], new: dict[str, str], *options: str) -> str:
    world.commit(old, "old")
    world.commit(new, "new")
    return git(world.project, "diff", "-M", *options, "HEAD~1", "HEAD") + "\n"


def test_a_patch_is_read_line_by_line() -> None:
    """A line that looks like a header is a line; positions and the missing newline are those of git."""
    (hunk,) = call("review/diff/patch.js", "readHunks", PATCH)
    assert (hunk["old"], hunk["now"], hunk["title"]) == (11, 11, "def f():")
    lines = [(line["kind"], line["old"], line["now"], line["text"]) for line in hunk["lines"]]
    assert lines == [
        ("same", 11, 11, "one"),
        ("same", 12, 12, "two"),
        ("removed", 13, None, "three = old(1)"),
        ("added", None, 13, "three = new(1)"),
        ("added", None, 14, "++ four"),
        ("same", 14, 15, "five"),
    ]
    assert [line["bare"] for line in hunk["lines"]] == [False] * 5 + [True]


def test_the_files_of_a_patch_are_found_by_their_names(tmp_path: Path) -> None:
    """Quotes, spaces, other letters, renames, binaries and deleted files of real git."""
    world = World(tmp_path)
    hard = 'd/ü "q" \t<b>.py'
    old = {"gone.txt": "x\n", "was.txt": "same\n" * 20, "plain b/x": "1\n", "bin": "a\0b"}
    world.commit(old, "old")
    for path in ("gone.txt", "was.txt"):
        (world.project / path).unlink()
    new = {hard: "1\n", "is now.txt": "same\n" * 20, "plain b/x": "2\n", "bin": "a\0c", "empty": ""}
    world.commit(new, "new")
    patch = git(world.project, "diff", "-M", "HEAD~1", "HEAD") + "\n"
    found = evaluate("return [...(await load('review/diff/patch.js')).splitPatch(args[0]).keys()]", patch)
    assert sorted(found) == sorted([hard, "gone.txt", "is now.txt", "plain b/x", "bin", "empty"])


def test_rows_have_gaps_and_both_numbers() -> None:
    """Lines before the first hunk are a gap; the end of the file has none after a missing newline."""
    assert evaluate(ROWS, PATCH, False) == [
        ["gap", 1, 10],
        [11, 11, "one"],
        [12, 12, "two"],
        [13, None, "three = old(1)"],
        [None, 13, "three = new(1)"],
        [None, 14, "++ four"],
        [14, 15, "five"],
    ]


def test_side_by_side_rows_pair_similar_lines() -> None:
    """A changed line is beside its new version, not beside the line with the same index."""
    patch = (
        "@@ -1,3 +1,4 @@\n a\n-value = compute(first, second)\n-return value\n"
        "+# a new comment\n+value = compute(first, third)\n+return value or None\n"
    )
    assert evaluate(ROWS, patch, True) == [
        ["a", "a"],
        [None, "# a new comment"],
        ["value = compute(first, second)", "value = compute(first, third)"],
        ["return value", "return value or None"],
    ]


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("return first", "return second", (["first"], ["second"])),
        ("    a = 1", "        a = 1", ([], [])),
        ("f(a, b)", "f(a, b, c)", ([], [", c"])),
        ("one two three", "four five six", None),
        ("constructor(x)", "constructor(y)", (["x"], ["y"])),
        ("    go()", "\tgo()", (["    "], ["\t"])),
        ("go()", "go()\r", ([], ["\r"])),
        ("a b", "a  b", ([" "], ["  "])),
    ],
)
def test_the_words_that_changed_are_marked(old: str, new: str, marked: Any) -> None:
    """White space is marked if nothing else changed; nothing is where the whole line is new."""
    found = call("review/diff/words.js", "changedWords", old, new)
    texts = found and tuple(
        [text[a:b] for a, b in ranges] for text, ranges in zip((old, new), found, strict=True)
    )
    assert texts == marked


def test_gaps_are_filled_from_the_whole_text(tmp_path: Path) -> None:
    """Steps from both ends and all of a gap; the numbers of both sides stay right."""
    before = [f"line {number}" for number in range(1, 201)]
    after = [*before[:99], "new", "newer", *before[100:]]
    world = World(tmp_path)
    patch = _patch(world, {"a": "\n".join(before) + "\n"}, {"a": "\n".join(after) + "\n"})
    found = evaluate(REVEAL, patch, after, [[0, "up"], [0, "down"], [0, "all"], [0, "down"], [0, "all"]])
    assert found["out"] == [
        [[1, 96], [105, 97]],
        [[1, 76], [105, 97]],
        [[21, 56], [105, 97]],
        [[105, 97]],
        [[125, 77]],
        [],
    ]
    assert found["right"]


def test_colours_are_those_of_the_whole_text() -> None:
    """A line within a string of several lines is a string; entities are single characters."""
    text = 'x = """\nclass A & "b" <c>\n"""\nif x < 1: pass'
    vendor = (Path(__file__).parents[2] / "src/ostler/web/static/vendor/highlight").as_uri()
    first, second, third, fourth = evaluate(COLOURS, vendor, text)
    assert first == [['"""', "string"]]
    assert second == [['class A & "b" <c>', "string"]]
    assert third == [['"""', "string"]]
    assert ["if", "keyword"] in fourth
    assert ["1", "number"] in fourth


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("Dockerfile.dev", "dockerfile"),
        ("Makefile", "makefile"),
        ("x.d.ts", "typescript"),
        ("LICENSE", None),
        ("constructor", None),
        ("a.__proto__", None),
    ],
)
def test_the_language_is_found_by_the_name(path: str, language: str | None) -> None:
    """Names of properties of every object are no languages."""
    assert call("review/diff/languages.js", "languageOf", path) == language


def test_hidden_characters_are_named() -> None:
    """Directions, control characters and spaces without width; not tabs, ends of lines and emojis."""
    text = "if a\u202e # \u2066x\u200b \x1b[31m \x9b \U000e0041 \ufeff"
    named = "if a[U+202E] # [U+2066]x[U+200B] [U+001B][31m [U+009B] [U+E0041] [U+FEFF]"
    assert call("hidden.js", "reveal", text) == named
    plain = "a\tb\r\n\u00e9 \u0645\u0631 \U0001f469\u200d\U0001f4bb\ufe0f\r"
    assert call("hidden.js", "reveal", plain) == plain
    assert call("hidden.js", "reveal", "done\rfake") == "done[U+000D]fake"
    assert call("hidden.js", "revealName", " a\tb\nc\u202e.py") == " a[U+0009]b[U+000A]c[U+202E].py"


def test_a_large_patch_is_read_at_once() -> None:
    """Thirty thousand changed lines are parsed, paired and laid out in linear time."""
    script = """
    const { FileLines } = await load("review/diff/file_lines.js");
    const { readHunks } = await load("review/diff/patch.js");
    const { rowsOf } = await load("review/diff/rows.js");
    const body = Array.from({ length: 15000 }, (_, at) => `-old line ${at}\\n+new line ${at}\\n same ${at}`);
    const started = performance.now();
    const lines = new FileLines(readHunks(`@@ -1,30000 +1,30000 @@\\n${body.join("\\n")}\\n`));
    const rows = rowsOf(lines.items, true);
    return [rows.length, performance.now() - started];
    """
    rows, took = evaluate(script)
    assert rows == 30_000
    assert took < 5000  # a tenth is usual; quadratic time takes minutes
