/** What the sandbox refused, as text (as describe_refusal of model/policy/sandbox.py). */

const WHAT = { network: "a connection to", file: "access to", push: "a push to" };

/** The refusal in one line, with the setting that would allow it. */
export function refusal({ kind, target, setting }) {
  const what = `the sandbox refused ${WHAT[kind] ?? "access to"} ${target}`;
  if (kind === "push" && !setting) return `${what}; Ostler publishes the work itself (git.on_complete)`;
  return setting ? `${what}; to allow it: ${setting}` : what;
}
