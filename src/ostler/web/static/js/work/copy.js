/** Copies a text and shows a message. */

import { notify, refused } from "../toast.js";

/** `what` names the text in the message. */
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied: ${what}`);
  } catch {
    refused({ message: "The browser does not allow copying.", hint: text });
  }
}
