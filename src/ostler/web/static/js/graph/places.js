/** The positions of the nodes of a layered graph, in pixels. */

const ACROSS = { width: 212, height: 92, along: 56, beside: 20, thin: 16 };
const DOWN = { width: 212, height: 92, along: 40, beside: 16, thin: 16 };
const LIST = { height: 76, gap: 12, gutter: 40 };
const SLIM = 148;
const PHONE = 640;

/** Left to right where that fits into `room`, else top down; a list on a phone, else wider than the window. */
export function placed({ layers, lines }, room) {
  const across = layers.length * (ACROSS.width + ACROSS.along) - ACROSS.along;
  const share = Math.min(...layers.map((layer) => shareOf(layer, room)));
  if (across <= room) return leftToRight(layers, lines);
  if (share >= SLIM) return down(layers, lines, Math.min(DOWN.width, share), room);
  return room < PHONE ? listed(layers, lines, room) : leftToRight(layers, lines);
}

/** How wide each node of a layer can be. */
function shareOf(layer, room) {
  const nodes = layer.filter(({ node }) => node).length;
  const taken = (layer.length - 1) * DOWN.beside + (layer.length - nodes) * DOWN.thin;
  return Math.floor((room - taken) / Math.max(1, nodes));
}

function leftToRight(layers, lines) {
  const { width, height, along, beside, thin } = ACROSS;
  const { at, span } = stand(layers, beside, (place) => (place.node ? height : thin));
  const boxes = new Map();
  layers.forEach((layer, column) => layer.forEach((place) => {
    boxes.set(place.id, { node: place.node, x: column * (width + along), y: at.get(place.id), width, height: place.node ? height : thin });
  }));
  const points = (box) => [{ x: box.x, y: box.y + box.height / 2 }, { x: box.x + box.width, y: box.y + box.height / 2 }];
  return { boxes, curves: lines.map((line) => curve(line, boxes, points, "x")), width: layers.length * (width + along) - along, height: span };
}

function down(layers, lines, width, room) {
  const { height, along, beside, thin } = DOWN;
  const { at, span } = stand(layers, beside, (place) => (place.node ? width : thin));
  const shift = Math.max(0, (room - span) / 2);
  const boxes = new Map();
  layers.forEach((layer, row) => layer.forEach((place) => {
    boxes.set(place.id, { node: place.node, x: shift + at.get(place.id), y: row * (height + along), width: place.node ? width : thin, height });
  }));
  const points = (box) => [{ x: box.x + box.width / 2, y: box.y }, { x: box.x + box.width / 2, y: box.y + box.height }];
  return { boxes, curves: lines.map((line) => curve(line, boxes, points, "y")), width: Math.max(room, span), height: layers.length * (height + along) - along };
}

/** One below the other, with arcs at the left: the further they reach, the wider. */
function listed(layers, lines, room) {
  const { height, gap, gutter } = LIST;
  const boxes = new Map();
  for (const place of layers.flat().filter(({ node }) => node)) {
    boxes.set(place.id, { node: place.node, x: gutter, y: boxes.size * (height + gap), width: room - gutter, height });
  }
  const middle = (id) => boxes.get(id).y + height / 2;
  const curves = lines.map((line) => {
    const [from, to] = [middle(line[0]), middle(line.at(-1))];
    const bulge = gutter - Math.min(gutter * 1.25, 12 + ((to - from) / (height + gap)) * 8);
    return { from: line[0], to: line.at(-1), path: `M${gutter} ${from}C${bulge} ${from} ${bulge} ${to} ${gutter} ${to}` };
  });
  return { boxes, curves, width: room, height: boxes.size * (height + gap) - gap };
}

/** Each layer in the middle of the longest one. */
function stand(layers, gap, size) {
  const lengths = layers.map((layer) => layer.reduce((sum, place) => sum + size(place) + gap, -gap));
  const span = Math.max(...lengths);
  const at = new Map();
  layers.forEach((layer, number) => {
    let next = (span - lengths[number]) / 2;
    for (const place of layer) {
      at.set(place.id, next);
      next += size(place) + gap;
    }
  });
  return { at, span };
}

/** A smooth curve from the end of one box through the others to the start of the last. */
function curve(line, boxes, points, axis) {
  const stops = line.map((id) => points(boxes.get(id)));
  let path = "";
  for (let at = 1; at < stops.length; at += 1) {
    const [from, to, end] = [stops[at - 1][1], stops[at][0], stops[at][1]];
    const half = (to[axis] - from[axis]) / 2;
    const [a, b] = axis === "x" ? [`${from.x + half} ${from.y}`, `${to.x - half} ${to.y}`] : [`${from.x} ${from.y + half}`, `${to.x} ${to.y - half}`];
    path += `${at === 1 ? `M${from.x} ${from.y}` : ""}C${a} ${b} ${to.x} ${to.y}`;
    if (at < stops.length - 1) path += `L${end.x} ${end.y}`;
  }
  return { from: line[0], to: line.at(-1), path };
}
