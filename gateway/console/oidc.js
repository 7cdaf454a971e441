/** OIDC sign-in: authorization code with PKCE (RFC 7636). The page is a public client: it redeems the code without a secret. */

import { Refusal } from "./api.js";

const PENDING = "kvs.oidc";

const encode = (octets) =>
  btoa(String.fromCharCode(...octets)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const random = () => encode(crypto.getRandomValues(new Uint8Array(32)));

/** The address that the issuer redirects back to. */
const redirectAddress = () => new URL(".", location.origin + location.pathname).href;

const failed = (detail) => new Refusal(0, "sign_in_failed", detail, null);

/** Sends a request to the issuer. The browser reveals no difference between an unreachable host and a CORS refusal. */
async function reach(address, options = {}) {
  try {
    return await fetch(address, { credentials: "omit", cache: "no-store", ...options });
  } catch {
    throw failed(`${new URL(address).host} is not reachable from this page.`);
  }
}

/** Parses a response of the issuer. Error texts never quote it, because it may contain a token. */
async function read(response) {
  const found = await response.json().catch(() => null);
  if (found === null || typeof found !== "object") throw failed("The issuer's response is not JSON.");
  return found;
}

/**
 * Fetches the issuer's configuration. Both endpoints must have the issuer's own origin. Otherwise a hostile issuer could
 * name another issuer's sign-in page with its own token endpoint and receive that issuer's codes (RFC 9700, section 4.4).
 */
async function discover(issuer) {
  const response = await reach(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!response.ok) throw failed(`The issuer's configuration request failed with status ${response.status}.`);
  const found = await read(response);
  if (found.issuer !== issuer) throw failed("The issuer's configuration names another issuer.");
  for (const address of [found.authorization_endpoint, found.token_endpoint]) {
    if (!URL.canParse(address) || new URL(address).origin !== new URL(issuer).origin) {
      throw failed("The issuer's configuration names an endpoint on another origin.");
    }
  }
  return found;
}

/** Navigates to the issuer's sign-in page; `back` is the console address to return to. */
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

/** Returns whether the address is a redirect back from an issuer. */
export function hasReturned() {
  const query = new URLSearchParams(location.search);
  return query.has("state") && (query.has("code") || query.has("error"));
}

/** Redeems the issuer's code for a token; resolves to the token and the address to return to. */
export async function finish() {
  const query = new URLSearchParams(location.search);
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
  sessionStorage.removeItem(PENDING);
  history.replaceState(null, "", redirectAddress());
  if (!pending || query.get("state") !== pending.state) {
    throw failed("This redirect does not belong to a sign-in started in this tab.");
  }
  if (query.has("iss") && query.get("iss") !== pending.issuer) throw failed("This redirect came from another issuer.");
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
  if (!response.ok || typeof answer.id_token !== "string") throw failed(answer.error_description ?? "The issuer returned no token.");
  if (nonceOf(answer.id_token) !== pending.nonce) throw failed("The issuer's token belongs to another sign-in.");
  return { token: answer.id_token, back: pending.back };
}

/** The nonce in an ID token. Its signature is verified by the control plane. */
function nonceOf(token) {
  try {
    return JSON.parse(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"))).nonce;
  } catch {
    throw failed("The issuer's token is not a JSON Web Token.");
  }
}
