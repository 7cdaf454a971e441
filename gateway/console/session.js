/** Who is signed in. The token is in this tab's session storage alone: never in an address or in the document. */

import { Refusal, ask, credentials } from "./api.js";

const TOKEN = "kvs.token";

/** Who calls, as the control plane tells it (`whoami`); null while nobody is signed in. */
export let caller = null;

credentials.token = () => sessionStorage.getItem(TOKEN);

/** Sign in with a token. Throws Refusal where the control plane does not know it. */
export async function begin(token) {
  if (!/^[!-~]+$/.test(token)) throw new Refusal(401, "invalid_token", "It holds characters that no token has.", null);
  const who = await ask("GET", "/v1/whoami", { token });
  sessionStorage.setItem(TOKEN, token);
  caller = who;
  changed();
}

/** Go on with the token that this tab has. Gives whether there is one that counts. */
export async function resume() {
  if (!credentials.token()) return false;
  caller = await ask("GET", "/v1/whoami");
  changed();
  return true;
}

/** Sign out: the token is forgotten. */
export function end() {
  sessionStorage.removeItem(TOKEN);
  caller = null;
  changed();
}

function changed() {
  document.dispatchEvent(new CustomEvent("session"));
}

/** Whether who is signed in may do this on an app, in an organization (without `app`), or anywhere (with neither). */
export function may(permission, org = null, app = null) {
  const covers = (patterns, name) =>
    name === null || patterns.length === 0 || patterns.some((pattern) => matches(pattern, name));
  return (caller?.grants ?? []).some(
    ({ allow, orgs, apps }) => allow.includes(permission) && covers(orgs, org) && covers(apps, app),
  );
}

/** Whether a shell-style pattern (`*`, `?`, `[a-z]`, `[!a-z]`) matches a name. */
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
