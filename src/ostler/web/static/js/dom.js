/** Elements from data: text is always a text node, never markup. */

import { onServer } from "./place.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. Props: `class`, `on` ({event: listener}), `data` ({name: value}), `style` ({property: value}),
 * and attributes; true sets an attribute without a value, null, undefined and false leave it out.
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Replaces all children of a node by these. */
export function replace(node, ...children) {
  node.replaceChildren(...flat(children));
  return node;
}

/** A line drawing of 16 by 16 from path data; decoration only, so hidden from screen readers. */
export function icon(path, size = 16) {
  return svg(
    "svg",
    { viewBox: "0 0 16 16", width: size, height: size, class: "icon", "aria-hidden": "true" },
    svg("path", { d: path }),
  );
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  node.append(...flat(children));
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
  } else if (name === "data") {
    Object.assign(node.dataset, value);
  } else if (name === "style") {
    for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
  } else if (name === "href" || name === "src") {
    setAddress(node, name, String(value));
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Only addresses that cannot run code. */
function setAddress(node, name, value) {
  const path = onServer(value);
  if (/^(https?:\/\/|mailto:|\/(?![/\\])|#|\.?\/?[\w-]+(\/|$))/i.test(path)) node.setAttribute(name, path);
}

function flat(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}
