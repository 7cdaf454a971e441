/** Places of the console: `#/orgs/acme/apps/shop/production`. They name apps and tables, never a token. */

const NAME = "([^/]+)";
const PLACES = [
  ["organizations", /^\/?$/, []],
  ["apps", new RegExp(`^/orgs/${NAME}$`), ["org"]],
  ["app", new RegExp(`^/orgs/${NAME}/apps/${NAME}/${NAME}$`), ["org", "app", "env"]],
  ["usage", new RegExp(`^/orgs/${NAME}/apps/${NAME}/${NAME}/usage$`), ["org", "app", "env"]],
  ["table", new RegExp(`^/orgs/${NAME}/apps/${NAME}/${NAME}/tables/${NAME}$`), ["org", "app", "env", "table"]],
  ["health", /^\/health$/, []],
];

/** The page, its parameters and its query that an address stands for; page null if none does. */
export function parse(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?");
  const query = Object.fromEntries(new URLSearchParams(search));
  for (const [page, pattern, names] of PLACES) {
    const parts = pattern.exec(path)?.slice(1).map(decode);
    if (parts && !parts.includes(null)) {
      return { page, query, ...Object.fromEntries(names.map((name, index) => [name, parts[index]])) };
    }
  }
  return { page: null, query };
}

/** The name that stands there, or null. `.` and `..` are none: they would lead to the path of another call. */
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
