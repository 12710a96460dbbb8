/** The HTTP API. */

const BASE = "/api/v1";

/** An error of the server (ostler.error/1). */
export class ApiError extends Error {
  constructor(status, { code = "UNKNOWN", message = "the server did not answer", hint = "" } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** Loads a document; empty values of `query` are left out. */
export function get(path, query = {}, signal = undefined) {
  return ask("GET", address(path, query), undefined, signal);
}

/** Posts a body and returns the changed document. */
export function post(path, body = {}, signal = undefined) {
  return ask("POST", BASE + path, JSON.stringify(body), signal);
}

/** The URL of a document, for a link or a download. */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return BASE + path + (text ? `?${text}` : "");
}

/** The path of a part of a task, with every segment encoded. */
export function taskPath(id, ...pieces) {
  return ["/tasks", id, ...pieces].map((piece, at) => (at ? encodeURIComponent(piece) : piece)).join("/");
}

async function ask(method, url, body, signal) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(url, { method, headers, body, signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "NETWORK", message: "the server does not answer", hint: "is ostler serve still running?" });
  }
  const document = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (!answer.ok) throw new ApiError(answer.status, document);
  return document;
}
