/** The spans of a timeline, sorted into one lane per phase. */

/** The lanes in the order in which their phases began: {name, phases, iterations, attempts, gates, waits}. */
export function lanesOf(timeline) {
  const spans = timeline.spans.map((span) => (span.kind === "attempt" ? { ...span, tools: [] } : span));
  const byId = new Map(spans.map((span) => [span.id, span]));
  const lanes = new Map();
  const lane = (name) => lanes.get(name) ?? lanes.set(name, emptyLane(name)).get(name);
  let last = "task";
  for (const span of spans) {
    if (span.kind === "tool") continue;
    const phase = phaseOf(span, byId);
    if (phase) last = phase.name;
    lane(phase?.name ?? last)[`${span.kind}s`].push(span);
  }
  for (const span of spans) if (span.kind === "tool") addTool(span, byId, lanes);
  return [...lanes.values()];
}

/** All lanes as one, for a drawing of one line. */
export function mergedLane(lanes) {
  const whole = emptyLane("");
  for (const lane of lanes) for (const kind of Object.keys(whole)) if (kind !== "name") whole[kind].push(...lane[kind]);
  return [whole];
}

/** The times of work as pairs; a wait does not count. */
export function busyTimes(timeline, now) {
  const worked = timeline.spans.filter(
    (span) => span.kind === "attempt" || (span.kind === "gate" && span.status !== "waiting"),
  );
  const marked = timeline.marks.map((mark) => [mark.at, mark.at]);
  return [...worked.map((span) => [span.start, span.end ?? now]), ...marked];
}

/** Everything that the arrow keys can select, in the order of time. */
export function stopsOf(lanes) {
  const stops = lanes.flatMap((lane) => [...lane.attempts, ...lane.gates, ...lane.waits]);
  return stops.sort((left, right) => left.start - right.start);
}

/** Its tools by time; the last one before a time is found by bisection. */
export function toolAt(attempt, time, slack) {
  const { tools } = attempt;
  let low = 0;
  let high = tools.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tools[middle].start <= time) low = middle + 1;
    else high = middle;
  }
  const near = [tools[low - 1], tools[low]].filter(Boolean);
  return near.find((tool) => time >= tool.start - slack && time <= (tool.end ?? Infinity) + slack) ?? null;
}

function emptyLane(name) {
  return { name, phases: [], iterations: [], attempts: [], gates: [], waits: [] };
}

function phaseOf(span, byId) {
  let one = span;
  while (one && one.kind !== "phase") one = byId.get(one.parent);
  return one ?? null;
}

function addTool(tool, byId, lanes) {
  let attempt = byId.get(tool.parent);
  if (attempt?.kind !== "attempt") attempt = lanes.get(phaseOf(tool, byId)?.name)?.attempts.at(-1);
  attempt?.tools.push(tool);
}
