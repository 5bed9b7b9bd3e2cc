import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Where the sentences about a folder of `src` live, most direct tests first. The longest name counts. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  core: ["core", "conformance", "security/fail-closed", "stores"],
  "core/keys": [
    "core/keys",
    "capabilities/keys",
    "security",
    "core/options",
    "core/server",
    "stores/introspection",
  ],
  "core/options": [
    "core/options",
    "core/issuers",
    "core/server",
    "complete",
    "core/policy",
    "stores",
    "tools/cli",
  ],
  "core/policy": [
    "core/policy",
    "core/scopes",
    "capabilities/conditions",
    "core/pipeline",
    "core/server",
    "corpora",
    "capabilities/mcp-operations",
    "adapters/fetch",
  ],
  "core/response": ["core/response", "core/server", "capabilities/sender-constraint", "conformance"],
  "core/runtime": ["core/runtime", "capabilities/keys", "core", "stores"],
  "core/scopes": ["core/scopes", "core/policy", "core/server", "corpora"],
  "core/token": [
    "core/token",
    "core/issuers",
    "security/tokens",
    "security",
    "core",
    "stores",
    "capabilities",
  ],
  "capabilities/batches": ["capabilities/batches", "adapters/trpc"],
  "capabilities/conditions": ["capabilities/conditions", "core/policy", "capabilities/issuers"],
  "capabilities/connections": ["capabilities/connections", "stores/introspection", "adapters/socketio"],
  "capabilities/explain": ["capabilities/explain", "core/server", "tools/cli", "capabilities/issuers"],
  "capabilities/grants": ["capabilities/grants"],
  "capabilities/issuers": [
    "capabilities/issuers",
    "core/issuers",
    "security/hostile-tenant",
    "security/private-addresses",
  ],
  "capabilities/keys": ["capabilities/keys", "core/issuers", "core/options"],
  "capabilities/mcp-operations": [
    "capabilities/mcp-operations",
    "capabilities",
    "core/policy",
    "adapters/mcp",
  ],
  "capabilities/opaque": ["core/options/opaque", "stores", "core/token"],
  "capabilities/resource": ["capabilities/resource", "core/options", "conformance"],
  "capabilities/sender-constraint": ["capabilities/sender-constraint", "security/proofs", "tls"],
  "capabilities/shadow": ["capabilities/shadow"],
};

/** They measure memory, test the package, replace what setup.ts replaces, or start programs of their own. */
const LEFT_OUT =
  /memory\.test|cli\/packed|vulnerabilities\/limits|mcp\/(?:clients|hostile)|tls\/(?:programs|proxies|sessions|sockets)|security\/fuzz/;

export function homesOf(file: string): readonly string[] {
  const names = Object.keys(HOMES).filter((name) => file.startsWith(`src/${name}/`));
  return HOMES[names.sort((one, other) => other.length - one.length)[0] ?? ""] ?? [];
}

/** The test files whose paths start with one of the homes, in their order. */
export function findTests(root: string, homes: readonly string[]): string[] {
  const files = readdirSync(join(root, "test"), { encoding: "utf8", recursive: true }).sort();
  const tests = files.filter((path) => path.endsWith(".test.ts") && !LEFT_OUT.test(path));
  const found = homes.flatMap((home) => tests.filter((path) => path.startsWith(home)));
  return [...new Set(found)].map((path) => join("test", path));
}
