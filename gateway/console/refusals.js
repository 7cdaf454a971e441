/** Error messages: what happened, and what to do about it. */

import { Refusal } from "./api.js";
import { h } from "./html.js";

const WORDS = {
  unreachable: ["The gateway cannot be reached.", "Check the connection, then try again."],
  answer_lost: ["The connection was lost before the gateway answered.", "The change may have been made. Reload the page to check before you try again. If a table was created, rotate its token to get a new one."],
  no_answer: ["The gateway did not answer within 30 seconds.", "The change may have been made. Reload the page to check before you try again."],
  invalid_answer: ["The response did not come from the gateway.", "Check the proxy between this browser and the gateway."],
  sign_in_failed: ["Sign-in failed.", "Try again, or sign in with a control token."],
  missing_token: ["You are not signed in.", "Sign in again."],
  invalid_token: ["The gateway does not accept this token.", "Check that it is a valid control token of this gateway."],
  not_allowed: ["You don't have permission to do this.", "Ask the gateway's operator for access."],
  app_not_found: ["App not found.", "It may have been removed. Go back to the list of apps."],
  table_not_found: ["Table not found.", "It may have been deleted. Go back to the app."],
  app_exists: ["An app with this name and environment already exists.", "Choose another name, or open the existing app."],
  table_exists: ["A table with this name already exists.", "Choose another name. Names that differ only in case count as the same."],
  table_limit_reached: ["Table limit reached.", "Delete a table, or raise the app's limit."],
  too_many_tokens: ["The table already has 8 valid tokens.", "Wait for an overlap to end, or rotate without an overlap to revoke all of them."],
  unsupported_app_type: ["Apps of this type can't have tables.", "Only api, web-ssr and sse apps can."],
  declared_app: ["This app is declared in the gateway's configuration.", "Edit the configuration to change it."],
  app_unreadable: ["The record of this app is damaged.", "Ask the gateway's operator to check the log."],
  auth_unavailable: ["The store of apps and tables is not responding.", "Try again in a moment."],
  usage_unavailable: ["Prometheus is not responding.", "Try again in a moment."],
  no_usage: ["Usage is not available.", "Ask your operator to set console.prometheus."],
  changed_meanwhile: ["Someone else changed this while you were editing.", "Save again to overwrite with your values."],
  shutting_down: ["This replica is shutting down.", "Try again. Another replica will answer."],
  internal_error: ["Something went wrong in the gateway.", "Try again. If it keeps failing, report the request id."],
};

/** Words for anything that was thrown. */
export function explain(error) {
  if (!(error instanceof Refusal)) return { happened: "Something went wrong on this page.", todo: "Reload the page.", detail: error.message };
  const [happened, todo] = WORDS[error.code] ?? [`The gateway refused the request: ${error.code}.`, "Correct the input and try again."];
  return { happened, todo, detail: error.detail, requestId: error.requestId };
}

/** The same words as an element that screen readers announce immediately. */
export function notice(error, ...actions) {
  const { happened, todo, detail, requestId } = explain(error);
  return h("div", { class: "notice bad", role: "alert", tabindex: "-1" },
    h("p", {}, h("strong", {}, happened), " ", todo),
    detail ? h("p", { class: "detail" }, detail) : null,
    requestId ? h("p", { class: "detail" }, "Request id ", h("code", {}, requestId)) : null,
    actions.length ? h("p", { class: "actions" }, ...actions) : null);
}
