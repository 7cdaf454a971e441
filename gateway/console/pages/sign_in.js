/** Sign-in with a control token, or through an identity provider (OIDC issuer). */

import { Refusal, ask } from "../api.js";
import { h } from "../html.js";
import * as oidc from "../oidc.js";
import { openDialog } from "../parts/dialog.js";
import { field, form } from "../parts/forms.js";
import { button, heading } from "../parts/heading.js";
import { notice } from "../refusals.js";
import * as session from "../session.js";

/** The sign-in page. */
export async function signIn({ done }) {
  const issuers = await listIssuers();
  return {
    title: "Sign in",
    content: [h("div", { class: "card narrow" }, heading([], "Sign in"),
      h("p", {}, "Manage the apps and tables of this region."),
      tokenForm({ done }), issuerButtons(issuers))],
  };
}

/** Asks for a token in a dialog over the current page. Resolves to whether the user signed in. */
export async function askToken() {
  const issuers = await listIssuers();
  return new Promise((resolve) => {
    let isSignedIn = false;
    const dialog = openDialog({
      title: "Your session has ended",
      content: [
        h("p", {}, "Sign in again to continue. Your input is kept, and the request is sent again."),
        tokenForm({ done: () => { isSignedIn = true; dialog.close(); } }), issuerButtons(issuers),
        issuers.length ? h("p", { class: "quiet" }, "Signing in through your identity provider leaves this page and discards your input.") : "",
      ],
      closed: () => resolve(isSignedIn),
    });
  });
}

function tokenForm({ done }) {
  const given = field({ name: "token", label: "Control token", type: "password", required: true, autocomplete: "off",
    hint: "Stays in this tab until you close it or sign out." });
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
  return h("section", { class: "issuers", "aria-label": "Sign in with your identity provider" }, h("p", { class: "quiet" }, "or"), problems,
    ...issuers.map((issuer) => button(`Sign in with ${hostOf(issuer.issuer)}`, () => leave(issuer))));
}

function hostOf(address) {
  return URL.canParse(address) ? new URL(address).host : address;
}

/** Lists the gateway's issuers; none if the call fails, so that signing in with a token still works. */
async function listIssuers() {
  try {
    const issuers = await ask("GET", "/v1/sign-in", { token: null });
    return Array.isArray(issuers) ? issuers : [];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}
