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
  "zod",
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
  check(`dist/${entry}.js`, `${entry} alone`, alone, DEPENDENCIES),
  check(`dist/${entry}.js`, `${entry} with its dependencies`, whole),
];

export default [
  ...budget("index", "49.5 kB", "64.7 kB"),
  ...budget("express", "16.2 kB", "26.4 kB"),
  ...budget("koa", "14 kB", "24.1 kB"),
  ...budget("fastify", "16.2 kB", "27 kB"),
  check("dist/nest.js", "nest alone", "15.2 kB", DEPENDENCIES),
  ...budget("testing", "14.8 kB", "29.4 kB"),
  ...budget("hono", "14.2 kB", "24.3 kB"),
  ...budget("fetch", "9.8 kB", "18.7 kB"),
  ...budget("node", "11.5 kB", "20.3 kB"),
  ...budget("socketio", "8.9 kB", "17.8 kB"),
  ...budget("mcp", "22.4 kB", "33.8 kB"),
  check("dist/otel.js", "otel alone", "8.3 kB", DEPENDENCIES),
  check("dist/openapi.js", "openapi alone", "20.4 kB", DEPENDENCIES),
  ...budget("page", "30.1 kB", "39.2 kB"),
  check("dist/api-keys.js", "api-keys alone", "5.2 kB", DEPENDENCIES),
  ...budget("revocation", "51.6 kB", "66.8 kB"),
  check("dist/introspection.js", "introspection alone", "19.2 kB", DEPENDENCIES),
  check("dist/replay.js", "replay alone", "1 kB", DEPENDENCIES),
  ...budget("trpc", "8.8 kB", "17.7 kB"),
  // It contains the dependencies that cannot be required. A bundler cannot leave out parts of zod in CommonJS.
  check("dist/index.cjs", "index in CommonJS, without zod", "60.8 kB", DEPENDENCIES),
];
