/** Start page: the organizations that have apps and that the caller may see. */

import { link } from "../html.js";
import { heading } from "../parts/heading.js";
import { empty, listing, pager, search } from "../parts/listing.js";
import { findPage } from "../prefixes.js";
import { address } from "../routes.js";
import { registerButton } from "./register.js";

const ON_A_PAGE = 100;

export async function organizations({ query }, { signal }) {
  const prefix = query.search ?? "";
  const part = await findPage("/v1/orgs", query, ON_A_PAGE, signal);
  const found = (text) => { location.hash = address.organizations({ search: text }); };
  return {
    title: "Organizations",
    state: JSON.stringify(part),
    content: [
      heading([], "Organizations", { actions: [registerButton(null)] }),
      search("Name starts with", prefix, found),
      part.found.length
        ? listing("Organizations", [{ title: "Organization" }], part.found.map(({ id, name }) => [link(address.apps(id), name)]))
        : empty(nothing(prefix, part.next)),
      pager({
        first: query.after ? address.organizations({ search: prefix }) : null,
        next: part.next ? address.organizations({ search: prefix, after: part.next }) : null,
      }),
    ],
  };
}

function nothing(prefix, next) {
  if (prefix) return "No organizations match. Search is case-sensitive.";
  return next ? "You can't view any organization on this page. Try the next page." : "No organizations yet. Register an app to create one.";
}
