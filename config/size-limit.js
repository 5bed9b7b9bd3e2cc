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
  ...budget("index", "51.9 kB", "58.0 kB"),
  ...budget("complete", "79.9 kB", "86.1 kB"),
  ...budget("conditions", "58.8 kB", "65.1 kB"),
  ...budget("connections", "53.1 kB", "59.3 kB"),
  ...budget("explain", "52.8 kB", "58.9 kB"),
  ...budget("grants", "52.7 kB", "58.9 kB"),
  ...budget("issuers", "55.5 kB", "61.8 kB"),
  ...budget("shadow", "52.4 kB", "58.7 kB"),
  ...budget("keys", "57.8 kB", "64.0 kB"),
  ...budget("resource", "52.7 kB", "58.9 kB"),
  ...budget("sender-constraint", "59.2 kB", "65.4 kB"),
  ...budget("express", "57.6 kB", "63.9 kB"),
  ...budget("koa", "56.2 kB", "62.5 kB"),
  ...budget("fastify", "60.1 kB", "66.6 kB"),
  alone("nest", "58.1 kB"),
  ...budget("testing", "71.8 kB", "79.2 kB"),
  ...budget("hono", "55.9 kB", "62.1 kB"),
  ...budget("fetch", "56.6 kB", "62.9 kB"),
  ...budget("node", "56.3 kB", "62.6 kB"),
  ...budget("socketio", "54.8 kB", "61.1 kB"),
  ...budget("mcp", "82.1 kB", "89.2 kB"),
  alone("otel", "54.6 kB"),
  alone("decision-log", "54.4 kB"),
  alone("openapi", "63.3 kB"),
  alone("audit", "76.7 kB"),
  ...budget("page", "103.7 kB", "110.0 kB"),
  alone("api-keys", "59.0 kB"),
  ...budget("revocation", "58.6 kB", "64.8 kB"),
  alone("introspection", "57.9 kB"),
  alone("replay", "53.8 kB"),
  alone("store", "54.1 kB"),
  ...budget("trpc", "55.0 kB", "61.2 kB"),
  // It contains the dependencies that cannot be required, and zod.
  {
    ...check("index in CommonJS", "../dist/index.cjs", "63.0 kB", DEPENDENCIES),
    modifyEsbuildConfig: forNode,
  },
];
