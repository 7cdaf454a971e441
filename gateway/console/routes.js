/** Addresses of the console, such as `#/orgs/acme/apps/shop/production`. They never contain a token. */

const NAME = "([^/]+)";
const ROUTES = [
  ["organizations", /^\/?$/, []],
  ["apps", new RegExp(`^/orgs/${NAME}$`), ["org"]],
  ["app", new RegExp(`^/orgs/${NAME}/apps/${NAME}/${NAME}$`), ["org", "app", "env"]],
  ["usage", new RegExp(`^/orgs/${NAME}/apps/${NAME}/${NAME}/usage$`), ["org", "app", "env"]],
  ["table", new RegExp(`^/orgs/${NAME}/apps/${NAME}/${NAME}/tables/${NAME}$`), ["org", "app", "env", "table"]],
  ["health", /^\/health$/, []],
];

/** Parses an address into page, parameters and query; page is null if no route matches. */
export function parse(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?");
  const query = Object.fromEntries(new URLSearchParams(search));
  for (const [page, pattern, names] of ROUTES) {
    const parts = pattern.exec(path)?.slice(1).map(decode);
    if (parts && !parts.includes(null)) {
      return { page, query, ...Object.fromEntries(names.map((name, index) => [name, parts[index]])) };
    }
  }
  return { page: null, query };
}

/** Decodes a path segment, or returns null. `.` and `..` are refused: in a URL they would lead to another resource. */
function decode(part) {
  try {
    const name = decodeURIComponent(part);
    return /^\.\.?$/.test(name) ? null : name;
  } catch {
    return null;
  }
}

const join = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export const address = {
  organizations: (query) => `#/${searchOf(query)}`,
  apps: (org, query) => join("orgs", org) + searchOf(query),
  app: ({ org, app, env }) => join("orgs", org, "apps", app, env),
  usage: ({ org, app, env }, query) => join("orgs", org, "apps", app, env, "usage") + searchOf(query),
  table: ({ org, app, env }, table) => join("orgs", org, "apps", app, env, "tables", table),
  health: () => "#/health",
};

function searchOf(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
