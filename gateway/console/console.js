/** Entry point: routes addresses to pages, shows the signed-in caller and refreshes the page. */

import { Refusal, credentials } from "./api.js";
import { announce, h, link } from "./html.js";
import * as oidc from "./oidc.js";
import { app } from "./pages/app.js";
import { apps } from "./pages/apps.js";
import { health } from "./pages/health.js";
import { organizations } from "./pages/organizations.js";
import { askToken, signIn } from "./pages/sign_in.js";
import { table } from "./pages/table.js";
import { usage } from "./pages/usage.js";
import { closeDialogs, isDialogOpen } from "./parts/dialog.js";
import { button, heading } from "./parts/heading.js";
import { notice } from "./refusals.js";
import { parse } from "./routes.js";
import * as session from "./session.js";

const PAGES = { organizations, apps, app, table, usage, health };
const PROGRESS_AFTER_MS = 200;
const REFRESH_MS = 15_000;

const main = document.getElementById("main");
let shown = { hash: null, state: undefined };
let leaving = new AbortController();
let isLoading = false;

/** Shows the page for the address. `isQuiet` replaces it only if something changed, and keeps the focus. */
async function show({ isQuiet = false } = {}) {
  const hash = location.hash;
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  if (!isQuiet) closeDialogs();
  const ended = isQuiet ? () => {} : showProgress(signal);
  try {
    const page = await load(parse(hash), signal);
    if (signal.aborted || (isQuiet && isDialogOpen())) return;
    document.getElementById("stale")?.remove();
    if (isQuiet && page.isStale) main.prepend(h("p", { id: "stale", class: "notice warn" }, "The gateway is not responding. This page may be out of date."));
    else if (!isQuiet || page.state !== shown.state) place(page, hash, isQuiet);
  } finally {
    ended();
  }
}

async function load(route, signal) {
  if (!session.caller) return signIn({ done: show });
  const page = PAGES[route.page];
  if (!page) return { title: "Page not found", content: [heading([], "Page not found"), h("p", {}, link("#/", "Go to organizations"))] };
  try {
    return await page(route, { signal, reload: show });
  } catch (error) {
    if (signal.aborted) return null;
    const again = button("Try again", () => show());
    return { title: "Error", state: `refused ${error.message}`, isStale: ![403, 404].includes(error.status), content: [heading([], "This page can't be shown"), notice(error, again)] };
  }
}

function place(page, hash, isQuiet) {
  const wasWithin = isQuiet && main.contains(document.activeElement);
  main.replaceChildren(...page.content.filter(Boolean));
  document.title = `${page.title} · KVS Console`;
  shown = { hash, state: page.state };
  if (isQuiet) announce("Page updated");
  else announce(page.title);
  if (!isQuiet || wasWithin) (main.querySelector("[data-first]") ?? main.querySelector("h1")).focus({ preventScroll: isQuiet });
  if (!isQuiet) scrollTo(0, 0);
}

function showProgress(signal) {
  isLoading = true;
  const bar = document.getElementById("progress");
  const timer = setTimeout(() => { bar.hidden = false; main.setAttribute("aria-busy", "true"); announce("Loading"); }, PROGRESS_AFTER_MS);
  return () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    isLoading = false;
    bar.hidden = true;
    main.removeAttribute("aria-busy");
  };
}

/** Reloads the page's data every 15 seconds and when the user comes back, but not while the user is typing. */
function refresh() {
  const isTyping = document.activeElement?.matches("#main input, #main select");
  if (isLoading || document.hidden || !session.caller || isDialogOpen() || isTyping || shown.state === undefined) return;
  show({ isQuiet: true });
}

function showCaller() {
  document.getElementById("navigation").hidden = !session.caller;
  const signOut = () => { session.end(); location.hash = "#/"; show(); };
  document.getElementById("caller").replaceChildren(
    ...(session.caller ? [h("span", { class: "who" }, session.caller.name), button("Sign out", signOut, "plain")] : []));
}

let renewal = null;

/** Asks for a new token over the page, so that no input is lost. Concurrent requests share one dialog. */
credentials.renew = () => {
  if (!session.caller) return Promise.resolve(false);
  renewal ??= askToken().finally(() => { renewal = null; });
  return renewal;
};

async function start() {
  document.addEventListener("session", showCaller);
  try {
    if (oidc.hasReturned()) {
      const { token, back } = await oidc.finish();
      await session.begin(token);
      history.replaceState(null, "", back);
    } else await session.resume();
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) session.end();
    else return place({ title: "Not signed in", content: [heading([], "Not signed in"), notice(error, button("Try again", () => location.reload()))] }, null, false);
  }
  addEventListener("hashchange", () => location.hash !== "#main" && show());
  addEventListener("visibilitychange", refresh);
  addEventListener("focus", refresh);
  setInterval(refresh, REFRESH_MS);
  return show();
}

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
start();
