/** Parts of a long page that exist only near the visible area; elsewhere an empty element has their height. */

const MARGIN = 400; // pixels above and below the visible area

/** `part` of a node: {build(), drop(), height(), keep?()}; a part that is to `keep` is not dropped. */
export class Lazy {
  #parts = new WeakMap();
  #observer;

  constructor(scroller, signal) {
    const rootMargin = `${MARGIN}px 0px`;
    this.#observer = new IntersectionObserver((entries) => this.#update(entries), { root: scroller, rootMargin });
    signal.addEventListener("abort", () => this.#observer.disconnect(), { once: true });
  }

  watch(node, part) {
    this.#parts.set(node, { ...part, isBuilt: false });
    setHeight(node, part.height());
    this.#observer.observe(node);
  }

  unwatch(node) {
    this.#parts.delete(node);
    this.#observer.unobserve(node);
  }

  /** Builds a part that is needed now, such as the target of a jump. */
  build(node) {
    const part = this.#parts.get(node);
    if (!part || part.isBuilt) return;
    part.isBuilt = true;
    setHeight(node, null);
    part.build();
  }

  /** Sets the height of a part that does not exist, after it changed. */
  resize(node) {
    const part = this.#parts.get(node);
    if (part && !part.isBuilt) setHeight(node, part.height());
  }

  isBuilt(node) {
    return this.#parts.get(node)?.isBuilt ?? false;
  }

  /** Heights are read before anything is changed. */
  #update(entries) {
    const known = entries.filter(({ target }) => this.#parts.has(target));
    const far = known.filter(({ target, isIntersecting }) => !isIntersecting && this.#canDrop(target));
    for (const { target, boundingClientRect } of far) this.#drop(target, boundingClientRect.height);
    for (const { target, isIntersecting } of known) if (isIntersecting) this.build(target);
  }

  #canDrop(node) {
    const part = this.#parts.get(node);
    return part.isBuilt && !part.keep?.() && !node.contains(document.activeElement);
  }

  #drop(node, height) {
    const part = this.#parts.get(node);
    if (!part) return; // a part of another one that was dropped just now
    part.isBuilt = false;
    setHeight(node, height);
    part.drop();
  }
}

function setHeight(node, pixels) {
  if (pixels === null) node.style.removeProperty("height");
  else node.style.setProperty("height", `${pixels}px`);
}
