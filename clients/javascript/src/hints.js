/** Advice on what to do about an error, by its code. */

const SERVICE_URL = "use SERVICE_KVS_URL as the platform sets it";
const VARIABLE = "set it to the value from the platform or kvs-gateway tables create --format env";
const CREDENTIALS = "use the credentials of the function's role, and let the SDK refresh them";
const SIGNATURE = "check the secret access key; proxies must keep Authorization, Host and body";
const OPERATOR = "ask the operator";

/** @type {Record<string, string>} */
const HINTS = {
  invalid_region: "set SERVICE_KVS_REGION to the region of the gateway",
  signature_expired: "correct the clock of this machine",
  caller_not_approved: "ask the operator to approve the role of these credentials for this app environment",
  invalid_credentials: CREDENTIALS,
  no_credentials: CREDENTIALS,
  signature_mismatch: SIGNATURE,
  incomplete_signature: SIGNATURE,
  invalid_host: SERVICE_URL,
  not_found: SERVICE_URL,
  redirect: SERVICE_URL,
  invalid_token: "set the variable of the table's token to its current token: it may have been rotated",
  binding_inactive: OPERATOR,
  unsupported_app_type: OPERATOR,
  rate_limited: "wait for retryAfterSeconds, or ask the operator for a higher limit",
  missing_variable: VARIABLE,
  invalid_variable: VARIABLE,
  no_answer: "check that SERVICE_KVS_URL is reachable, or retry later; a put or delete may have been applied",
  deadline_exceeded: "allow more time with deadlineSeconds; a put or delete may have been applied",
  browser: "call the client from a function of type api, web-ssr or sse",
};

const OUTAGE = "retry later; a put or delete may have been applied";
const ANY = "see docs/refusals.md of the gateway";

/** @param {string} code @param {boolean} isOutage */
export function hintFor(code, isOutage) {
  return (Object.hasOwn(HINTS, code) && HINTS[code]) || (isOutage ? OUTAGE : ANY);
}
