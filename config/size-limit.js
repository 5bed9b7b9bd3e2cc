/**
 * What an entry loads, minified and gzipped: of this package alone, and with everything that it depends on.
 * A limit is 2% above the measured size: rewording a message does not reach it, a new dependency does.
 */
const DEPENDENCIES = [
  "@opentelemetry/api",
  "@nestjs/common",
  "fastify-plugin",
  "jose",
  "leven",
  "on-headers",
  "path-to-regexp",
  "yaml",
];

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
  ...budget("index", "56.0 kB", "71.3 kB"),
  ...budget("express", "17.3 kB", "27.4 kB"),
  ...budget("koa", "14.5 kB", "24.6 kB"),
  ...budget("fastify", "17.3 kB", "28.2 kB"),
  check("../dist/nest.js", "nest alone", "18.0 kB", DEPENDENCIES),
  ...budget("testing", "58.0 kB", "74.5 kB"),
  ...budget("hono", "14.7 kB", "24.9 kB"),
  ...budget("fetch", "10.2 kB", "19.1 kB"),
  ...budget("node", "11.8 kB", "20.7 kB"),
  ...budget("socketio", "9.1 kB", "18.1 kB"),
  ...budget("mcp", "23.5 kB", "34.9 kB"),
  check("../dist/otel.js", "otel alone", "8.6 kB", DEPENDENCIES),
  check("../dist/decision-log.js", "decision-log alone", "5.0 kB", DEPENDENCIES),
  check("../dist/openapi.js", "openapi alone", "21.4 kB", DEPENDENCIES),
  ...budget("page", "32.5 kB", "41.6 kB"),
  check("../dist/api-keys.js", "api-keys alone", "5.3 kB", DEPENDENCIES),
  ...budget("revocation", "58.1 kB", "73.4 kB"),
  check("../dist/introspection.js", "introspection alone", "19.7 kB", DEPENDENCIES),
  check("../dist/replay.js", "replay alone", "1000 B", DEPENDENCIES),
  ...budget("trpc", "9.2 kB", "18.1 kB"),
  // It contains the dependencies that cannot be required, and zod.
  check("../dist/index.cjs", "index in CommonJS", "67.6 kB", DEPENDENCIES),
];
