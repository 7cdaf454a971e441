/** The signed-in caller. The token is kept in this tab's session storage only, never in an address or the document. */

import { Refusal, ask, credentials } from "./api.js";

const TOKEN = "kvs.token";

/** The caller as `whoami` describes it; null while signed out. */
export let caller = null;

credentials.token = () => sessionStorage.getItem(TOKEN);

/** Signs in with a token. Throws Refusal if the control plane does not accept it. */
export async function begin(token) {
  if (!/^[!-~]+$/.test(token)) throw new Refusal(401, "invalid_token", "It contains characters that are not allowed in a token.", null);
  const identity = await ask("GET", "/v1/whoami", { token });
  sessionStorage.setItem(TOKEN, token);
  caller = identity;
  changed();
}

/** Resumes the session of this tab. Resolves to whether there is one. */
export async function resume() {
  if (!credentials.token()) return false;
  caller = await ask("GET", "/v1/whoami");
  changed();
  return true;
}

/** Signs out and deletes the token. */
export function end() {
  sessionStorage.removeItem(TOKEN);
  caller = null;
  changed();
}

function changed() {
  document.dispatchEvent(new CustomEvent("session"));
}

/** Returns whether the caller may do this on an app, in an organization (without `app`) or anywhere (with neither). */
export function may(permission, org = null, app = null) {
  const covers = (patterns, name) =>
    name === null || patterns.length === 0 || patterns.some((pattern) => matches(pattern, name));
  return (caller?.grants ?? []).some(
    ({ allow, orgs, apps }) => allow.includes(permission) && covers(orgs, org) && covers(apps, app),
  );
}

/** Returns whether a shell-style pattern (`*`, `?`, `[a-z]`, `[!a-z]`) matches a name. */
export function matches(pattern, name) {
  const source = pattern.replace(/\[(!?)([^\]]+)\]|[^]/g, (part, negated, characters) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (characters === undefined) return part.replace(/[\\^$.|+(){}[\]/-]/g, "\\$&");
    return `[${negated ? "^" : ""}${characters.replace(/[\\^[]/g, "\\$&")}]`;
  });
  try {
    return new RegExp(`^(?:${source})$`, "s").test(name);
  } catch {
    return false;
  }
}
