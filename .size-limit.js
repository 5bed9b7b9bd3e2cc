/** What an entry loads, minified and gzipped: of this package alone, and with everything that it depends on. */
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
  ...budget("index", "48.6 kB", "63.4 kB"),
  ...budget("express", "16 kB", "26 kB"),
  ...budget("koa", "14 kB", "24 kB"),
  ...budget("fastify", "16 kB", "26.5 kB"),
  check("dist/nest.js", "nest alone", "15 kB", DEPENDENCIES),
  ...budget("testing", "14.8 kB", "29 kB"),
  ...budget("hono", "14 kB", "24 kB"),
  ...budget("fetch", "9.6 kB", "18.5 kB"),
  ...budget("node", "11.3 kB", "20 kB"),
  ...budget("socketio", "8.8 kB", "17.5 kB"),
  ...budget("mcp", "22 kB", "33.4 kB"),
  check("dist/otel.js", "otel alone", "15 kB", DEPENDENCIES),
  check("dist/openapi.js", "openapi alone", "40 kB", DEPENDENCIES),
  ...budget("page", "29.8 kB", "38.6 kB"),
  check("dist/api-keys.js", "api-keys alone", "5.2 kB", DEPENDENCIES),
  ...budget("revocation", "52 kB", "67 kB"),
  check("dist/introspection.js", "introspection alone", "19.4 kB", DEPENDENCIES),
  check("dist/replay.js", "replay alone", "1.5 kB", DEPENDENCIES),
  ...budget("trpc", "8.7 kB", "17.5 kB"),
  // It contains the dependencies that cannot be required. A bundler cannot leave out parts of zod in CommonJS.
  check("dist/index.cjs", "index in CommonJS, without zod", "59.6 kB", DEPENDENCIES),
];
