/** Colours whole texts beside the page: {id, language, text} is answered by {id, lines}. */

import hljs from "../../../vendor/highlight/es/core.min.js";
import { rangesOfMarkup } from "./markup_ranges.js";

const loaded = new Map();

addEventListener("message", async ({ data: { id, language, text } }) => {
  try {
    await load(language);
    const { value } = hljs.highlight(text, { language, ignoreIllegals: true });
    postMessage({ id, lines: rangesOfMarkup(value) });
  } catch (error) {
    postMessage({ id, lines: [], error: String(error) });
  }
});

/** Loads a grammar, and those that it has within it. */
function load(language) {
  if (!loaded.has(language)) loaded.set(language, read(language));
  return loaded.get(language);
}

async function read(language) {
  const { default: grammar } = await import(`../../../vendor/highlight/es/languages/${language}.min.js`);
  hljs.registerLanguage(language, grammar);
  if (language === "xml" || language === "markdown") await Promise.all(INNER[language].map(load));
}

const INNER = { xml: ["css", "javascript"], markdown: ["xml"] };
