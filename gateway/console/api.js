/** Client of the control plane. Refused requests throw a Refusal with its explanation. */

const DEADLINE_MS = 30_000;

/** A failed request. `status` is 0 if there was no response. */
export class Refusal extends Error {
  constructor(status, code, detail, requestId) {
    super(code);
    Object.assign(this, { status, code, detail, requestId });
  }
}

/** Credentials of the calls. The session replaces both functions. */
export const credentials = {
  token: () => null,
  /** Asks for a new token after the current one was refused. Resolves to whether there is one. */
  renew: async () => false,
};

/**
 * Sends one request; resolves to the JSON and the cursor of the next page. If the session's token has expired, the user
 * is asked for a new one and the request is repeated, which is safe because a 401 changed nothing. An explicit `token`
 * is never renewed.
 */
export async function call(method, path, { body, token, headers = {}, signal } = {}) {
  try {
    return await send(method, path, body, token === undefined ? credentials.token() : token, headers, signal);
  } catch (error) {
    const ended = error instanceof Refusal && error.status === 401 && token === undefined;
    if (!ended || !(await credentials.renew())) throw error;
    return send(method, path, body, credentials.token(), headers, signal);
  }
}

/** Sends one request; resolves to the JSON. */
export async function ask(method, path, options) {
  return (await call(method, path, options)).json;
}

async function send(method, path, body, token, headers, signal) {
  const fields = { ...headers };
  if (token) fields.Authorization = `Bearer ${token}`;
  if (body !== undefined) fields["Content-Type"] = "application/json";
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const options = {
    method, headers: fields, body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store", credentials: "omit", redirect: "error", signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
  };
  let response;
  let text;
  try {
    response = await fetch(path, options);
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, deadline.aborted ? "no_answer" : method === "GET" ? "unreachable" : "answer_lost", null, null);
  }
  const json = parse(text);
  if (!response.ok || json === undefined) throw refusal(response, json);
  return { json, next: nextPage(response.headers.get("link")) };
}

function parse(text) {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(response, json) {
  const code = typeof json?.error === "string" ? json.error : "invalid_answer";
  const detail = response.headers.get("x-kvs-error-detail");
  return new Refusal(response.status, code, detail, response.headers.get("x-request-id"));
}

/** The `after` parameter of the next page from a Link header (RFC 8288), or null. */
function nextPage(field) {
  const found = field && /<([^>]*)>\s*;\s*rel="?next"?/.exec(field);
  return found ? new URL(found[1], location.origin).searchParams.get("after") : null;
}

const segment = encodeURIComponent;

/** The path of an app environment's resource. */
export function appPath({ org, app, env }, rest = "", query = {}) {
  return `/v1/orgs/${segment(org)}/apps/${segment(app)}${rest}?${new URLSearchParams({ env, ...query })}`;
}

/** The path of an app's tables, or of one table. */
export function tablePath(environment, table = null, rest = "") {
  const name = table === null ? "" : `/${segment(table)}`;
  return appPath(environment, `/services/kvs/tables${name}${rest}`);
}

/** The path of a page of a list, starting at the cursor `after`. */
export function listPath(path, { after, limit }) {
  const query = new URLSearchParams({ limit });
  if (after) query.set("after", after);
  return `${path}?${query}`;
}
