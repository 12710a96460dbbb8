/** The markup of highlight.js as ranges of the text; it never becomes markup of a page. */

const PIECE = /<span class="([^"]*)">|<\/span>|&(amp|lt|gt|quot|#x27);|[^<&]+/g;

/** For each line a flat list of start, end and class, such as [0, 3, "keyword"]. */
export function rangesOfMarkup(markup) {
  const lines = [[]];
  const open = [];
  let column = 0;
  for (const [piece, opened, entity] of markup.matchAll(PIECE)) {
    if (opened !== undefined) open.push(className(opened));
    else if (piece === "</span>") open.pop();
    else {
      for (const [index, part] of (entity ? ["x"] : piece.split("\n")).entries()) {
        if (index) {
          lines.push([]);
          column = 0;
        }
        add(lines.at(-1), column, column + part.length, open.at(-1));
        column += part.length;
      }
    }
  }
  return lines;
}

/** "hljs-title function_" is "title"; a language within another has no class. */
function className(text) {
  const found = /^hljs-([\w-]+)/.exec(text);
  return found ? found[1] : "";
}

function add(line, start, end, name) {
  if (!name || start === end) return;
  if (line.at(-1) === name && line.at(-2) === start) line[line.length - 2] = end;
  else line.push(start, end, name);
}
