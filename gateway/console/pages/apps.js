/** Page of an organization: its apps, paged, with a search by name prefix. */

import { figure, h, link } from "../html.js";
import { heading } from "../parts/heading.js";
import { badge, empty, listing, pager, search } from "../parts/listing.js";
import { findPage } from "../prefixes.js";
import { address } from "../routes.js";
import { registerButton } from "./register.js";

const ON_A_PAGE = 50;
const COLUMNS = [
  { title: "App" }, { title: "Environment" }, { title: "Type" }, { title: "Status" }, { title: "Requests per minute", number: true },
];

export async function apps({ org, query }, { signal }) {
  const prefix = query.search ?? "";
  const part = await findPage(`/v1/orgs/${encodeURIComponent(org)}/apps`, query, ON_A_PAGE, signal);
  const found = (text) => { location.hash = address.apps(org, { search: text }); };
  return {
    title: `Apps of ${org}`,
    state: JSON.stringify(part),
    content: [
      heading([["Organizations", address.organizations()]], org, { eyebrow: "Organization", actions: [registerButton(org)] }),
      h("h2", {}, "Apps"),
      search("Name starts with", prefix, found),
      part.found.length ? listing(`Apps of ${org}`, COLUMNS, part.found.map(row)) : empty(nothing(prefix, part.next)),
      pager({
        first: query.after ? address.apps(org, { search: prefix }) : null,
        next: part.next ? address.apps(org, { search: prefix, after: part.next }) : null,
      }),
    ],
  };
}

function row(app) {
  const environment = { org: app.org_id, app: app.app_id, env: app.env_id };
  const name = link(address.app(environment), app.name);
  return [name, app.env_id, app.type, badge(app.status), figure(app.requests_per_minute)];
}

function nothing(prefix, next) {
  if (prefix) return "No apps match. Search is case-sensitive.";
  return next ? "You can't view any app on this page. Try the next page." : "No apps that you can view.";
}
