import { fileURLToPath, URL } from "node:url";

/**
 * What a service loads, minified and gzipped: the front door and one other entry, of this package alone, and with
 * everything that they depend on. A limit is 2% above the measured size: rewording a message does not reach it, a new
 * dependency does.
 */
const DEPENDENCIES = ["@opentelemetry/api", "@nestjs/common", "jose", "on-headers", "path-to-regexp"];

const folder = fileURLToPath(new URL(".", import.meta.url));

const forNode = (config) => ({ ...config, platform: "node", logLevel: "error" });

const check = (name, entry, limit, ignore) => ({
  name,
  path: entry,
  limit,
  ignore,
  gzip: true,
  modifyEsbuildConfig: ({ entryPoints: _, ...config }) => ({
    ...forNode(config),
    stdin: {
      contents: `export { createResourceServer } from "../dist/index.js"; export * as entry from "${entry}";`,
      resolveDir: folder,
    },
  }),
});

const fileOf = (entry) => `../dist/${entry}.js`;

const alone = (entry, limit) => check(`${entry} alone`, fileOf(entry), limit, DEPENDENCIES);

const budget = (entry, limit, whole) => [
  alone(entry, limit),
  check(`${entry} with its dependencies`, fileOf(entry), whole),
];

export default [
  ...budget("index", "54.0 kB", "60.2 kB"),
  ...budget("complete", "85.9 kB", "92.0 kB"),
  ...budget("conditions", "61.1 kB", "67.2 kB"),
  ...budget("connections", "55.1 kB", "61.2 kB"),
  ...budget("explain", "54.7 kB", "60.9 kB"),
  ...budget("grants", "54.6 kB", "60.8 kB"),
  ...budget("issuers", "57.4 kB", "63.6 kB"),
  ...budget("shadow", "54.4 kB", "60.6 kB"),
  ...budget("keys", "59.8 kB", "66.0 kB"),
  ...budget("resource", "55.4 kB", "61.6 kB"),
  ...budget("sender-constraint", "61.1 kB", "67.2 kB"),
  ...budget("express", "59.6 kB", "65.8 kB"),
  ...budget("koa", "58.2 kB", "64.4 kB"),
  ...budget("fastify", "61.7 kB", "68.2 kB"),
  alone("nest", "60.1 kB"),
  ...budget("testing", "75.9 kB", "83.3 kB"),
  ...budget("hono", "57.8 kB", "64.0 kB"),
  ...budget("fetch", "58.6 kB", "64.8 kB"),
  ...budget("node", "58.3 kB", "64.5 kB"),
  ...budget("socketio", "56.8 kB", "62.9 kB"),
  ...budget("mcp", "87.4 kB", "94.5 kB"),
  alone("otel", "56.6 kB"),
  alone("decision-log", "56.4 kB"),
  alone("openapi", "65.4 kB"),
  alone("audit", "78.9 kB"),
  ...budget("page", "107.6 kB", "113.7 kB"),
  alone("api-keys", "61.0 kB"),
  ...budget("revocation", "61.0 kB", "67.1 kB"),
  alone("introspection", "59.9 kB"),
  alone("replay", "55.7 kB"),
  alone("store", "56.0 kB"),
  ...budget("trpc", "56.9 kB", "63.2 kB"),
  // It contains the dependencies that cannot be required, and zod.
  {
    ...check("index in CommonJS", "../dist/index.cjs", "65.2 kB", DEPENDENCIES),
    modifyEsbuildConfig: forNode,
  },
];
