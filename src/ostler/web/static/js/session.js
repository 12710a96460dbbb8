/** The session of the server (ostler.session/1), loaded once. */

import { get } from "./api.js";

let asked = null;

/** ostler.session/1 */
export function session() {
  asked ??= get("/session").catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}
