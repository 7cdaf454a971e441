/** Organizations that have apps, as far as who is signed in may see them. */

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
      search("Name begins with", prefix, found),
      part.found.length
        ? listing("Organizations", [{ title: "Organization" }], part.found.map(({ id, name }) => [link(address.apps(id), name)]))
        : empty(prefix ? "No organization begins so." : part.next ? "Nothing on this page that you may see." : "No organization has apps yet."),
      pager({
        first: query.after ? address.organizations({ search: prefix }) : null,
        next: part.next ? address.organizations({ search: prefix, after: part.next }) : null,
      }),
    ],
  };
}
