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
  ...budget("index", "78.5 kB", "84.7 kB"),
  ...budget("complete", "80.2 kB", "86.4 kB"),
  ...budget("connections", "3.2 kB", "3.2 kB"),
  ...budget("explain", "5.8 kB", "5.8 kB"),
  ...budget("express", "11.8 kB", "13.1 kB"),
  ...budget("koa", "7.3 kB", "7.3 kB"),
  ...budget("fastify", "13.4 kB", "14.7 kB"),
  check("../dist/nest.js", "nest alone", "12.3 kB", DEPENDENCIES),
  ...budget("testing", "87.1 kB", "94.4 kB"),
  ...budget("hono", "7.0 kB", "7.0 kB"),
  ...budget("fetch", "7.4 kB", "7.4 kB"),
  ...budget("node", "7.1 kB", "7.1 kB"),
  ...budget("socketio", "4.7 kB", "4.7 kB"),
  ...budget("mcp", "32.0 kB", "34.0 kB"),
  check("../dist/otel.js", "otel alone", "4.3 kB", DEPENDENCIES),
  check("../dist/decision-log.js", "decision-log alone", "5.7 kB", DEPENDENCIES),
  check("../dist/openapi.js", "openapi alone", "41.0 kB", DEPENDENCIES),
  check("../dist/audit.js", "audit alone", "32.0 kB", DEPENDENCIES),
  ...budget("page", "58.3 kB", "59.6 kB"),
  check("../dist/api-keys.js", "api-keys alone", "8.1 kB", DEPENDENCIES),
  ...budget("revocation", "83.3 kB", "89.6 kB"),
  check("../dist/introspection.js", "introspection alone", "33.9 kB", DEPENDENCIES),
  check("../dist/replay.js", "replay alone", "3.4 kB", DEPENDENCIES),
  check("../dist/store.js", "store alone", "3.7 kB", DEPENDENCIES),
  ...budget("trpc", "4.1 kB", "4.1 kB"),
  // It contains the dependencies that cannot be required, and zod.
  check("../dist/index.cjs", "index in CommonJS", "97.1 kB", DEPENDENCIES),
];
