/** Refusals in words: what happened, and what to do. */

import { Refusal } from "./api.js";
import { h } from "./html.js";

const WORDS = {
  unreachable: ["The gateway cannot be reached.", "Check the connection, then try again."],
  answer_lost: ["No answer came back.", "Check the connection, and look before you try again: the change may have been made. The token of a table whose answer was lost cannot be shown; rotate it."],
  no_answer: ["The gateway did not answer in 30 s.", "Look before you try again: the change may have been made."],
  invalid_answer: ["The answer did not come from the gateway.", "Check the proxy between this browser and the gateway."],
  sign_in_failed: ["The issuer did not sign you in.", "Try again, or sign in with a control token."],
  missing_token: ["Nobody is signed in.", "Sign in again."],
  invalid_token: ["The gateway does not accept this token.", "Check that it is a control token of this gateway, and still valid."],
  not_allowed: ["Your token does not allow this.", "Ask who operates the gateway for the permission."],
  app_not_found: ["There is no such app.", "It may have been removed. Go back to the list of apps."],
  table_not_found: ["There is no such table.", "It may have been deleted. Go back to the app."],
  app_exists: ["There is an app of this name and environment.", "Choose another name, or open the app."],
  table_exists: ["There is a table of this name.", "Choose another name; upper and lower case are the same."],
  table_limit_reached: ["The app has as many tables as it may have.", "Delete a table, or raise the app's limit."],
  too_many_tokens: ["The table has 8 valid tokens.", "Wait until an overlap has ended, or rotate at once, which ends them all."],
  unsupported_app_type: ["Apps of this type cannot have tables.", "Tables are for api, web-ssr and sse."],
  declared_app: ["This app is declared in the gateway's configuration.", "Change it there; here it is read-only."],
  app_unreadable: ["The record of this app is damaged.", "Ask who operates the gateway: the log names it."],
  auth_unavailable: ["The store of apps and tables does not answer.", "Try again in a moment."],
  usage_unavailable: ["Prometheus does not answer.", "Try again in a moment."],
  no_usage: ["Usage is not shown here.", "Who operates the gateway can name a Prometheus under console.prometheus."],
  changed_meanwhile: ["Somebody changed this while the form was open.", "Check what is different; sent again, your values count."],
  shutting_down: ["This replica is shutting down.", "Try again: another one will answer."],
  internal_error: ["The gateway failed.", "Try again; if it fails again, report the request id."],
};

/** What happened, and what to do, of anything that was thrown. */
export function explain(error) {
  if (!(error instanceof Refusal)) return { happened: "Something failed in this page.", todo: "Load the page again.", detail: error.message };
  const [happened, todo] = WORDS[error.code] ?? [`The gateway refused: ${error.code}.`, "Change what it names, then try again."];
  return { happened, todo, detail: error.detail, requestId: error.requestId };
}

/** The same as an element that is read out at once. */
export function notice(error, ...actions) {
  const { happened, todo, detail, requestId } = explain(error);
  return h("div", { class: "notice bad", role: "alert", tabindex: "-1" },
    h("p", {}, h("strong", {}, happened), " ", todo),
    detail ? h("p", { class: "detail" }, detail) : null,
    requestId ? h("p", { class: "detail" }, "Request id ", h("code", {}, requestId)) : null,
    actions.length ? h("p", { class: "actions" }, ...actions) : null);
}
