/** Runtime variables of a table in several formats, and sample code that uses them. */

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
const lines = (variables, write) => Object.entries(variables).map(([name, value]) => write(name, value)).join("\n");

/** Formats by title, each a text or a promise of one. `variables` are the runtime variables of `table`. */
export function forms(table, variables) {
  return {
    Shell: lines(variables, (name, value) => `export ${name}=${quoted(value)}`),
    dotenv: lines(variables, (name, value) => `${name}=${quoted(value)}`),
    "Kubernetes Secret": kubernetesSecret(table, variables),
    curl: curl(table, variables),
    Python: python(table.name),
    JavaScript: javascript(table.name),
    Go: go(table.name),
  };
}

/** The Secret as `kvs-gateway tables create --format k8s-secret` prints it. Its name does not depend on the token. */
async function kubernetesSecret(table, variables) {
  const names = [table.org_id, table.app_id, table.env_id, table.name];
  if (!crypto.subtle) return "# Open the console over HTTPS to get the Secret: its name needs a hash, which browsers offer on secure pages only.";
  const octets = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(names.join("/")));
  const digest = [...new Uint8Array(octets)].map((octet) => octet.toString(16).padStart(2, "0")).join("").slice(0, 8);
  const readable = names.slice(1).join("-").toLowerCase().replace(/[^a-z0-9-]/g, "-");
  return [
    "apiVersion: v1", "kind: Secret", "metadata:", `  name: kvs-${readable}-${digest}`, "type: Opaque", "stringData:",
    lines(variables, (name, value) => `  ${name}: ${JSON.stringify(value)}`),
  ].join("\n");
}

/** The session token header is added only if there is one: curl would sign an empty header but not send it. */
function curl(table, variables) {
  const named = (ending) => Object.keys(variables).find((name) => name.endsWith(ending));
  return `curl --aws-sigv4 "aws:amz:$${named("_KVS_REGION")}:execute-api" \\
  --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \\
  \${AWS_SESSION_TOKEN:+-H"X-Amz-Security-Token: $AWS_SESSION_TOKEN"} \\
  -H "X-KVS-Authorization: Bearer $${table.env_var_name}" \\
  -H "Content-Type: application/json" \\
  -d '{"key": "greeting", "value": {"text": "hello"}, "ttlSeconds": 3600}' \\
  "$${named("_KVS_URL")}/v1/put"`;
}

const text = JSON.stringify;

function python(name) {
  return `from kvs_client import from_env

table = from_env(${text(name)})
table.put("greeting", {"text": "hello"}, ttl_seconds=3600)
entry = table.get("greeting")
print(entry.value if entry else "missing")`;
}

function javascript(name) {
  return `import { fromEnv } from "kvs-client";

const table = fromEnv(${text(name)});
await table.put("greeting", { text: "hello" }, { ttlSeconds: 3600 });
const entry = await table.get("greeting");
console.log(entry ? entry.value : "missing");`;
}

function go(name) {
  return `table, err := kvs.FromEnv(ctx, ${text(name)})
if err != nil {
	return err
}
err = table.Put(ctx, "greeting", "hello", time.Hour)`;
}
