"""The title and the body of a pull request."""

from __future__ import annotations

from ostler.git.publish.proposal import write_body, write_title


def test_a_title_is_one_line_with_our_mark():
    """Line breaks are removed; a title that is too long for GitHub is cut with a visible mark."""
    assert write_title("Fix\nthe  login") == "[ostler] Fix the login"
    long = write_title("x" * 400)
    assert len(long) == 250
    assert long.endswith("…")


def test_a_body_has_three_parts():
    """Summary, task, and the checks."""
    body = write_body("fix-ab12", "Fix the login", "It redirects.\n", ("test: pytest -q passed on 1a2b3c",))
    assert body == (
        "## Summary\n\nIt redirects.\n\n"
        "## Task\n\n`fix-ab12`: Fix the login\n\n"
        "## How it was checked\n\n- test: pytest -q passed on 1a2b3c\n"
    )


def test_a_body_claims_nothing():
    """Without a summary the body has the title; without a check it states that none ran."""
    body = write_body("fix-ab12", "Fix the login", "  ", ())
    assert "## Summary\n\nFix the login\n" in body
    assert body.endswith("No check was run.\n")


def test_a_body_stays_within_what_github_takes():
    """65,536 characters, and no byte that an argument of a program cannot contain."""
    body = write_body("t", "T", "x\0" * 100_000, ("y" * 100_000,))
    assert len(body) < 65_536
    assert "\0" not in body
