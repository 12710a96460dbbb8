/** Drawings that adapt to their width. */

/** Calls `draw(width)` now and whenever the frame's width changes, until the frame is removed from the page. */
export function drawToWidth(frame, draw) {
  let drawn = 0;
  const watcher = new ResizeObserver(() => {
    if (!frame.isConnected) return watcher.disconnect();
    if (!frame.clientWidth || frame.clientWidth === drawn) return undefined;
    drawn = frame.clientWidth;
    return draw(drawn);
  });
  watcher.observe(frame);
}
