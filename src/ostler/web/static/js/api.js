/** The HTTP API. */

import { PREFIX, splitId } from "./place.js";

const API = "/api/v1";

/** An error of the server (ostler.error/1). */
export class ApiError extends Error {
  constructor(status, { code = "UNKNOWN", message = "the server did not answer", hint = "", problems = [] } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.problems = problems;
  }
}

/** Loads a document; empty values of `query` are left out. */
export function get(path, query = {}, signal = undefined) {
  return ask("GET", address(path, query), undefined, signal);
}

/** Posts a body and returns the changed document; with `keepalive` also while the page is closed. */
export function post(path, body = {}, signal = undefined, { keepalive = false } = {}) {
  return ask("POST", absolute(path), JSON.stringify(body), signal, keepalive);
}

/** Changes a document and returns it. */
export function patch(path, body) {
  return ask("PATCH", absolute(path), JSON.stringify(body));
}

/** The URL of a document, for a link or a download. */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return absolute(path) + (text ? `?${text}` : "");
}

/** The path of a part of a task, with every segment encoded. */
export function taskPath(id, ...pieces) {
  const { prefix, task } = splitId(id);
  const path = ["/tasks", task, ...pieces].map((piece, at) => (at ? encodeURIComponent(piece) : piece)).join("/");
  return pathIn(prefix, path);
}

/** A path in the project with this prefix, "" for this one. */
export const pathIn = (prefix, path) => (prefix ? prefix + API + path : path);

/** Loads a document of the server, in a server of several projects. */
export function getOfServer(path, signal = undefined) {
  return ask("GET", API + path, undefined, signal);
}

/** The path on the server; that of a task of another project is complete. */
function absolute(path) {
  return path.startsWith("/p/") ? path : PREFIX + API + path;
}

async function ask(method, url, body, signal, keepalive = false) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(url, { method, headers, body, signal, keepalive, credentials: "same-origin" });
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
