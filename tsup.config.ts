import { esbuildPage } from "./scripts/page-script.ts";
import { fewFiles } from "./scripts/few-files.ts";

// A plain object: the types of tsup need packages that are not installed with it.
export default {
  entry: {
    index: "src/index.ts",
    complete: "src/complete/index.ts",
    connections: "src/capabilities/connections/index.ts",
    explain: "src/capabilities/explain/index.ts",
    conditions: "src/capabilities/conditions/index.ts",
    grants: "src/capabilities/grants/index.ts",
    issuers: "src/capabilities/issuers/index.ts",
    shadow: "src/capabilities/shadow/index.ts",
    keys: "src/capabilities/keys/index.ts",
    resource: "src/capabilities/resource/index.ts",
    "sender-constraint": "src/capabilities/sender-constraint/index.ts",
    express: "src/adapters/express/index.ts",
    koa: "src/adapters/koa/index.ts",
    fastify: "src/adapters/fastify/index.ts",
    fetch: "src/adapters/fetch/index.ts",
    hono: "src/adapters/hono/index.ts",
    node: "src/adapters/node/index.ts",
    socketio: "src/adapters/socketio/index.ts",
    trpc: "src/adapters/trpc/index.ts",
    nest: "src/adapters/nest/index.ts",
    mcp: "src/adapters/mcp/index.ts",
    audit: "src/tools/audit/index.ts",
    otel: "src/tools/otel/index.ts",
    "decision-log": "src/tools/decision-log/index.ts",
    openapi: "src/tools/openapi/index.ts",
    page: "src/tools/page/index.ts",
    revocation: "src/stores/revocation/index.ts",
    store: "src/stores/store/index.ts",
    replay: "src/stores/replay/index.ts",
    "api-keys": "src/stores/api-keys/index.ts",
    introspection: "src/stores/introspection/index.ts",
    testing: "src/tools/testing/index.ts",
    cli: "src/tools/cli/main.ts",
  },
  format: ["esm"],
  platform: "node",
  target: "node20",
  // Shared chunks: an error thrown by `scopegate` stays an instance of the class that
  // `scopegate/express` sees.
  splitting: true,
  removeNodeProtocol: false,
  esbuildPlugins: [esbuildPage, fewFiles],
  // A part of zod is enough for options. Loading all of it takes longer than loading everything else
  // (docs/decisions/0030-zod-is-bundled.md).
  noExternal: [/^zod/],
  clean: true,
  sourcemap: true,
  dts: { compilerOptions: { ignoreDeprecations: "6.0" } },
};
