"""List prices of models: dollars for a million tokens, as their providers published them.

A price holds from its date until the next one of the same model. Where a provider charges more for long
prompts, this is the price of the others: no agent says how long each of its prompts was, so that a sum may be
the least that it can be. A model whose price is not certain is not here; [prices] in the settings adds it.
"""

from __future__ import annotations

from datetime import date

CHECKED = date(2026, 11, 15)
"""When the list was last held against the providers' own pages."""

_THIS_YEAR = date(2026, 1, 1)  # for models that are older than Ostler
_OPUS_5_5 = _GPT_6 = date(2026, 9, 22)
_GPT_5_6 = date(2026, 7, 9)
_GPT_5_6_CUT = date(2026, 7, 30)

# fmt: off
# model, from, input, output, cache read, cache write (None: no charge of its own, it is input)
LIST: tuple[tuple[str, date, float, float, float, float | None], ...] = (
    ("claude-fable-5",      _THIS_YEAR,        10.00,  50.00, 1.000, 12.50),
    ("claude-fable-5-1",    date(2026, 9, 1),  10.00,  50.00, 0.250, 12.50),
    ("claude-opus-5-5",     _OPUS_5_5,          4.00,  20.00, 0.200,  5.00),
    ("claude-opus-5",       date(2026, 7, 24),  5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-8",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-7",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-6",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-5",     _THIS_YEAR,         5.00,  25.00, 0.500,  6.25),
    ("claude-opus-4-1",     _THIS_YEAR,        15.00,  75.00, 1.500, 18.75),
    ("claude-opus-4",       _THIS_YEAR,        15.00,  75.00, 1.500, 18.75),
    ("claude-sonnet-5-5",   _OPUS_5_5,          2.00,  10.00, 0.200,  2.50),
    ("claude-sonnet-5",     date(2026, 6, 30),  2.00,  10.00, 0.200,  2.50),
    ("claude-sonnet-4-6",   _THIS_YEAR,         3.00,  15.00, 0.300,  3.75),
    ("claude-sonnet-4-5",   _THIS_YEAR,         3.00,  15.00, 0.300,  3.75),
    ("claude-sonnet-4",     _THIS_YEAR,         3.00,  15.00, 0.300,  3.75),
    ("claude-haiku-4-5",    _THIS_YEAR,         1.00,   5.00, 0.100,  1.25),
    ("gpt-6-sol",           _GPT_6,             2.00,  10.00, 0.200,  2.50),
    ("gpt-6-luna",          _GPT_6,             0.10,   0.50, 0.010,  0.125),
    ("gpt-5.6",             _GPT_5_6,           5.00,  30.00, 0.500,  6.25),
    ("gpt-5.6-sol",         _GPT_5_6,           5.00,  30.00, 0.500,  6.25),
    ("gpt-5.6-terra",       _GPT_5_6,           2.50,  15.00, 0.250,  3.125),
    ("gpt-5.6-terra",       _GPT_5_6_CUT,       2.00,  12.00, 0.200,  2.50),
    ("gpt-5.6-luna",        _GPT_5_6,           1.00,   6.00, 0.100,  1.25),
    ("gpt-5.6-luna",        _GPT_5_6_CUT,       0.20,   1.20, 0.020,  0.25),
    ("gpt-5.5",             _THIS_YEAR,         5.00,  30.00, 0.500,  None),
    ("gpt-5.4",             _THIS_YEAR,         2.50,  15.00, 0.250,  None),
    ("gpt-5.4-mini",        _THIS_YEAR,         0.75,   4.50, 0.075,  None),
    ("gpt-5.4-nano",        _THIS_YEAR,         0.20,   1.25, 0.020,  None),
    ("gpt-5.3-codex",       _THIS_YEAR,         1.75,  14.00, 0.175,  None),
    ("gpt-5.2",             _THIS_YEAR,         1.75,  14.00, 0.175,  None),
    ("gpt-5.2-codex",       _THIS_YEAR,         1.75,  14.00, 0.175,  None),
    ("gpt-5.1",             _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5.1-codex",       _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5.1-codex-max",   _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5.1-codex-mini",  _THIS_YEAR,         0.25,   2.00, 0.025,  None),
    ("gpt-5",               _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5-codex",         _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gpt-5-mini",          _THIS_YEAR,         0.25,   2.00, 0.025,  None),
    ("gpt-5-nano",          _THIS_YEAR,         0.05,   0.40, 0.005,  None),
    ("gemini-3.1-pro-preview", _THIS_YEAR,      2.00,  12.00, 0.200,  None),
    ("gemini-2.5-pro",      _THIS_YEAR,         1.25,  10.00, 0.125,  None),
    ("gemini-2.5-flash",    _THIS_YEAR,         0.30,   2.50, 0.030,  None),
    ("gemini-2.5-flash-lite", _THIS_YEAR,       0.10,   0.40, 0.010,  None),
)
# fmt: on
