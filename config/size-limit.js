/**
 * What an entry loads, minified and gzipped: of this package alone, and with everything that it depends on.
 * A limit is 2% above the measured size: rewording a message does not reach it, a new dependency does.
 */
const DEPENDENCIES = ["@opentelemetry/api", "@nestjs/common", "jose", "on-headers", "path-to-regexp"];

const check = (path, name, limit, ignore) => ({
  name,
  path,
  limit,
  ignore,
  gzip: true,
  modifyEsbuildConfig: (config) => ({ ...config, platform: "node", logLevel: "error" }),
});

const budget = (entry, alone, whole) => [
  check(`../dist/${entry}.js`, `${entry} alone`, alone, DEPENDENCIES),
  check(`../dist/${entry}.js`, `${entry} with its dependencies`, whole),
];

export default [
  ...budget("index", "51.9 kB", "58.0 kB"),
  ...budget("complete", "79.9 kB", "86.1 kB"),
  ...budget("conditions", "17.2 kB", "18.5 kB"),
  ...budget("connections", "3.2 kB", "3.2 kB"),
  ...budget("explain", "1.6 kB", "1.6 kB"),
  ...budget("grants", "11.2 kB", "11.2 kB"),
  ...budget("shadow", "25.4 kB", "26.7 kB"),
  ...budget("keys", "18.6 kB", "18.6 kB"),
  ...budget("resource", "11.7 kB", "11.7 kB"),
  ...budget("sender-constraint", "20.6 kB", "25.4 kB"),
  ...budget("express", "8.5 kB", "8.5 kB"),
  ...budget("koa", "6.9 kB", "6.9 kB"),
  ...budget("fastify", "10.1 kB", "10.1 kB"),
  check("../dist/nest.js", "nest alone", "10.0 kB", DEPENDENCIES),
  ...budget("testing", "71.8 kB", "79.2 kB"),
  ...budget("hono", "6.6 kB", "6.6 kB"),
  ...budget("fetch", "7.6 kB", "7.6 kB"),
  ...budget("node", "7.1 kB", "7.1 kB"),
  ...budget("socketio", "4.7 kB", "4.7 kB"),
  ...budget("mcp", "41.0 kB", "41.7 kB"),
  check("../dist/otel.js", "otel alone", "4.3 kB", DEPENDENCIES),
  check("../dist/decision-log.js", "decision-log alone", "4.4 kB", DEPENDENCIES),
  check("../dist/openapi.js", "openapi alone", "35.5 kB", DEPENDENCIES),
  check("../dist/audit.js", "audit alone", "32.5 kB", DEPENDENCIES),
  ...budget("page", "59.1 kB", "60.4 kB"),
  check("../dist/api-keys.js", "api-keys alone", "12.1 kB", DEPENDENCIES),
  ...budget("revocation", "58.6 kB", "64.8 kB"),
  check("../dist/introspection.js", "introspection alone", "25.8 kB", DEPENDENCIES),
  check("../dist/replay.js", "replay alone", "3.4 kB", DEPENDENCIES),
  check("../dist/store.js", "store alone", "3.7 kB", DEPENDENCIES),
  ...budget("trpc", "5.3 kB", "5.3 kB"),
  // It contains the dependencies that cannot be required, and zod.
  check("../dist/index.cjs", "index in CommonJS", "71.0 kB", DEPENDENCIES),
];
