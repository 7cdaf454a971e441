/** Sign-in at an issuer: authorization code with PKCE (RFC 7636). The code is exchanged by this page, which has no secret. */

import { Refusal } from "./api.js";

const PENDING = "kvs.oidc";

const encode = (octets) =>
  btoa(String.fromCharCode(...octets)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const random = () => encode(crypto.getRandomValues(new Uint8Array(32)));

/** Where the issuer sends the browser back to. */
const redirectAddress = () => new URL(".", location.origin + location.pathname).href;

const failed = (detail) => new Refusal(0, "sign_in_failed", detail, null);

/** One call of the issuer. An address that does not answer, or allows no call from here, gives no more than that. */
async function reach(address, options = {}) {
  try {
    return await fetch(address, { credentials: "omit", cache: "no-store", ...options });
  } catch {
    throw failed(`${new URL(address).host} does not answer this page.`);
  }
}

/** An issuer's answer, which may be anything. What it holds is not repeated: it may be a token. */
async function read(response) {
  const found = await response.json().catch(() => null);
  if (found === null || typeof found !== "object") throw failed("The issuer's answer is not JSON.");
  return found;
}

/**
 * The issuer's configuration. Both its endpoints have to be of the issuer's own origin: with the page of one issuer and
 * the token endpoint of another, a code of the first would be sent to the second (RFC 9700, section 4.4).
 */
async function discover(issuer) {
  const response = await reach(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!response.ok) throw failed(`The issuer answered ${response.status} when it was asked for its configuration.`);
  const found = await read(response);
  if (found.issuer !== issuer) throw failed("The issuer's configuration names another issuer.");
  for (const address of [found.authorization_endpoint, found.token_endpoint]) {
    if (!URL.canParse(address) || new URL(address).origin !== new URL(issuer).origin) {
      throw failed("The issuer's configuration leads to another origin.");
    }
  }
  return found;
}

/** Leave for the issuer's page; `back` is the place in the console to come back to. */
export async function leave({ issuer, client_id: client, scope = "openid" }, back) {
  const found = await discover(issuer);
  const pending = { issuer, client, back, verifier: random(), state: random(), nonce: random() };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const address = new URL(found.authorization_endpoint);
  const query = {
    response_type: "code", client_id: client, redirect_uri: redirectAddress(), scope, state: pending.state,
    nonce: pending.nonce, code_challenge: encode(new Uint8Array(digest)), code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  location.assign(address);
}

/** Whether this address is an issuer's answer. */
export function hasReturned() {
  const query = new URLSearchParams(location.search);
  return query.has("state") && (query.has("code") || query.has("error"));
}

/** The token that the issuer's answer stands for, and where to go. The answer leaves the address at once. */
export async function finish() {
  const query = new URLSearchParams(location.search);
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
  sessionStorage.removeItem(PENDING);
  history.replaceState(null, "", redirectAddress());
  if (!pending || query.get("state") !== pending.state) {
    throw failed("This answer of the issuer belongs to no sign-in of this tab.");
  }
  if (query.has("iss") && query.get("iss") !== pending.issuer) throw failed("This answer is another issuer's.");
  if (query.has("error")) throw failed(query.get("error_description") ?? query.get("error"));
  const found = await discover(pending.issuer);
  const response = await reach(found.token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code", code: query.get("code"), redirect_uri: redirectAddress(),
      client_id: pending.client, code_verifier: pending.verifier,
    }),
  });
  const answer = await read(response);
  if (!response.ok || typeof answer.id_token !== "string") throw failed(answer.error_description ?? "The issuer gave no token.");
  if (nonceOf(answer.id_token) !== pending.nonce) throw failed("The issuer's token belongs to another sign-in.");
  return { token: answer.id_token, back: pending.back };
}

/** What the token repeats of the request; the control plane verifies its signature. */
function nonceOf(token) {
  try {
    return JSON.parse(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"))).nonce;
  } catch {
    throw failed("The issuer's token is not a JSON Web Token.");
  }
}
