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
  ...budget("index", "79.2 kB", "85.9 kB"),
  ...budget("express", "11.4 kB", "13 kB"),
  ...budget("koa", "7.1 kB", "7.6 kB"),
  ...budget("fastify", "13.3 kB", "15.7 kB"),
  check("../dist/nest.js", "nest alone", "12.3 kB", DEPENDENCIES),
  ...budget("testing", "84.7 kB", "92.5 kB"),
  ...budget("hono", "6.8 kB", "7.2 kB"),
  ...budget("fetch", "6.1 kB", "6.6 kB"),
  ...budget("node", "7.1 kB", "7.1 kB"),
  ...budget("socketio", "4.6 kB", "5.0 kB"),
  ...budget("mcp", "28.5 kB", "31.5 kB"),
  check("../dist/otel.js", "otel alone", "3.8 kB", DEPENDENCIES),
  check("../dist/decision-log.js", "decision-log alone", "5.5 kB", DEPENDENCIES),
  check("../dist/openapi.js", "openapi alone", "41.1 kB", DEPENDENCIES),
  check("../dist/audit.js", "audit alone", "25.4 kB", DEPENDENCIES),
  ...budget("page", "54.1 kB", "55.8 kB"),
  check("../dist/api-keys.js", "api-keys alone", "6.3 kB", DEPENDENCIES),
  ...budget("revocation", "81.3 kB", "87.9 kB"),
  check("../dist/introspection.js", "introspection alone", "34.0 kB", DEPENDENCIES),
  check("../dist/replay.js", "replay alone", "2.0 kB", DEPENDENCIES),
  check("../dist/store.js", "store alone", "3.2 kB", DEPENDENCIES),
  ...budget("trpc", "4.1 kB", "4.5 kB"),
  // It contains the dependencies that cannot be required, and zod.
  check("../dist/index.cjs", "index in CommonJS", "97.4 kB", DEPENDENCIES),
];
