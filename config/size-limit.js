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
  ...budget("index", "51.6 kB", "66.8 kB"),
  ...budget("express", "15.6 kB", "25.8 kB"),
  ...budget("koa", "11.5 kB", "20.4 kB"),
  ...budget("fastify", "16.5 kB", "27.3 kB"),
  check("../dist/nest.js", "nest alone", "16.5 kB", DEPENDENCIES),
  ...budget("testing", "53.6 kB", "70.0 kB"),
  ...budget("hono", "11.1 kB", "20.1 kB"),
  ...budget("fetch", "10.2 kB", "19.1 kB"),
  ...budget("node", "11.8 kB", "20.7 kB"),
  ...budget("socketio", "9.1 kB", "18.1 kB"),
  ...budget("mcp", "23.5 kB", "34.9 kB"),
  check("../dist/otel.js", "otel alone", "8.6 kB", DEPENDENCIES),
  check("../dist/decision-log.js", "decision-log alone", "5.0 kB", DEPENDENCIES),
  check("../dist/openapi.js", "openapi alone", "21.4 kB", DEPENDENCIES),
  check("../dist/audit.js", "audit alone", "21.1 kB", DEPENDENCIES),
  ...budget("page", "40.4 kB", "50.4 kB"),
  check("../dist/api-keys.js", "api-keys alone", "5.3 kB", DEPENDENCIES),
  ...budget("revocation", "53.7 kB", "69.0 kB"),
  check("../dist/introspection.js", "introspection alone", "19.7 kB", DEPENDENCIES),
  check("../dist/replay.js", "replay alone", "1000 B", DEPENDENCIES),
  ...budget("trpc", "9.0 kB", "17.8 kB"),
  // It contains the dependencies that cannot be required, and zod.
  check("../dist/index.cjs", "index in CommonJS", "63.1 kB", DEPENDENCIES),
];
