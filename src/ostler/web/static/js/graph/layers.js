/** Rows for the nodes of a graph: each node after all that it needs, with few crossing lines. */

const SWEEPS = 6;

/**
 * Layers of positions for nodes {id, after}. A line that crosses layers has a position in each of them: {id, from, to}
 * without a node. Gives {layers: [[{id, node}]], lines: [[id, id, ...]]}. Cycles are cut, unknown names left out.
 */
export function layered(nodes) {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const depth = depths(known);
  const layers = Array.from({ length: Math.max(0, ...depth.values()) + 1 }, () => []);
  for (const node of nodes) layers[depth.get(node.id)].push({ id: node.id, node });
  const lines = nodes.flatMap((node) => needs(node, known, depth).map((from) => passed(from, node.id, depth, layers)));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) order(layers, lines, sweep % 2 === 0);
  return { layers, lines };
}

function depths(known) {
  const depth = new Map();
  const visiting = new Set();
  const of = (id) => {
    if (depth.has(id)) return depth.get(id);
    if (visiting.has(id)) return -1;
    visiting.add(id);
    const before = known.get(id).after.filter((other) => known.has(other) && other !== id);
    depth.set(id, 1 + Math.max(-1, ...before.map(of)));
    return depth.get(id);
  };
  for (const id of known.keys()) of(id);
  return depth;
}

function needs(node, known, depth) {
  return [...new Set(node.after)].filter((id) => known.has(id) && depth.get(id) < depth.get(node.id));
}

function passed(from, to, depth, layers) {
  const path = [from];
  for (let at = depth.get(from) + 1; at < depth.get(to); at += 1) {
    const id = `${from}\n${to}\n${at}`;
    layers[at].push({ id, node: null });
    path.push(id);
  }
  return [...path, to];
}

/** Sorts each layer by the positions of its neighbours in the layer before it. */
function order(layers, lines, forward) {
  const near = neighbours(lines, forward);
  const walk = forward ? layers.slice(1).map((layer, at) => [layers[at], layer]) : layers.slice(0, -1).map((layer, at) => [layers[at + 1], layer]).reverse();
  for (const [fixed, layer] of walk) {
    const place = new Map(fixed.map(({ id }, at) => [id, (at + 0.5) / fixed.length]));
    const wish = new Map(layer.map(({ id }, at) => [id, mean(near.get(id), place) ?? (at + 0.5) / layer.length]));
    layer.sort((a, b) => wish.get(a.id) - wish.get(b.id));
  }
}

function neighbours(lines, forward) {
  const near = new Map();
  for (const line of lines) {
    for (let at = 1; at < line.length; at += 1) {
      const [node, other] = forward ? [line[at], line[at - 1]] : [line[at - 1], line[at]];
      near.set(node, [...(near.get(node) ?? []), other]);
    }
  }
  return near;
}

function mean(ids, place) {
  const found = (ids ?? []).filter((id) => place.has(id)).map((id) => place.get(id));
  return found.length ? found.reduce((sum, value) => sum + value, 0) / found.length : null;
}
