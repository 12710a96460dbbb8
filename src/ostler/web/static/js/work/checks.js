/** The state of a pull request in words. */

/** The state and the checks of an ostler.pull-request/1: {words, tone, title}. */
export function checksInWords({ state, checks }) {
  if (state === "merged") return { words: "merged", tone: "ok", title: "" };
  if (state === "closed") return { words: "closed", tone: "bad", title: "" };
  const counted = checks.filter((check) => check.state !== "skipped");
  const of = (name) => counted.filter((check) => check.state === name);
  const title = checks.map((check) => `${check.name}: ${check.state}`).join("\n");
  const draft = state === "draft" ? "draft, " : "";
  if (of("failed").length) return { words: `${draft}✗ ${of("failed").length} of ${counted.length} checks failed`, tone: "bad", title };
  if (of("running").length) return { words: `${draft}${of("running").length} of ${counted.length} checks run`, tone: "warn", title };
  if (counted.length) return { words: `${draft}✓ ${counted.length === 1 ? "1 check" : `${counted.length} checks`}`, tone: "ok", title };
  return { words: state, tone: "", title };
}
