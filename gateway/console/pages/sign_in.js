/** Sign in: with a control token, or at an issuer. */

import { Refusal, ask } from "../api.js";
import { h } from "../html.js";
import * as oidc from "../oidc.js";
import { openDialog } from "../parts/dialog.js";
import { field, form } from "../parts/forms.js";
import { button, heading } from "../parts/heading.js";
import { notice } from "../refusals.js";
import * as session from "../session.js";

/** The page for somebody who is not signed in. */
export async function signIn({ done }) {
  const issuers = await listIssuers();
  return {
    title: "Sign in",
    content: [h("div", { class: "card narrow" }, heading([], "Sign in"),
      h("p", {}, "Manage the apps and tables of this region with what your control token allows."),
      tokenForm({ done }), issuerButtons(issuers))],
  };
}

/** Ask over the page that is shown. Gives whether somebody signed in. */
export async function askToken() {
  const issuers = await listIssuers();
  return new Promise((resolve) => {
    let isSignedIn = false;
    const dialog = openDialog({
      title: "Your session has ended",
      content: [
        h("p", {}, "Sign in again to go on. What you typed is kept, and the call that was refused is repeated."),
        tokenForm({ done: () => { isSignedIn = true; dialog.close(); } }), issuerButtons(issuers),
        issuers.length ? h("p", { class: "quiet" }, "Signing in at an issuer leaves this page: what you typed is lost then.") : "",
      ],
      closed: () => resolve(isSignedIn),
    });
  });
}

function tokenForm({ done }) {
  const given = field({ name: "token", label: "Control token", type: "password", required: true, autocomplete: "off",
    hint: "Kept in this tab until you close it or sign out." });
  given.querySelector("input").setAttribute("data-first", "");
  return form({ fields: [given], submit: "Sign in", send: ({ token }) => session.begin(token.trim()), done: () => done() });
}

function issuerButtons(issuers) {
  if (issuers.length === 0) return "";
  const problems = h("div", {});
  const leave = async (issuer) => {
    try {
      await oidc.leave(issuer, location.hash || "#/");
    } catch (error) {
      problems.replaceChildren(notice(error));
    }
  };
  return h("section", { class: "issuers", "aria-label": "Sign in at an issuer" }, h("p", { class: "quiet" }, "or"), problems,
    ...issuers.map((issuer) => button(`Sign in at ${hostOf(issuer.issuer)}`, () => leave(issuer))));
}

function hostOf(address) {
  return URL.canParse(address) ? new URL(address).host : address;
}

/** The issuers that the gateway names; a gateway without the call, or without an answer, leaves the token. */
async function listIssuers() {
  try {
    const issuers = await ask("GET", "/v1/sign-in", { token: null });
    return Array.isArray(issuers) ? issuers : [];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}
