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
  ...budget("index", "46.5 kB", "61.5 kB"),
  ...budget("express", "16 kB", "26 kB"),
  ...budget("koa", "14 kB", "24 kB"),
  ...budget("fastify", "16 kB", "26.5 kB"),
  check("dist/nest.js", "nest alone", "14.6 kB", DEPENDENCIES),
  ...budget("testing", "14.6 kB", "28.5 kB"),
  ...budget("hono", "14 kB", "24 kB"),
  ...budget("fetch", "9.6 kB", "18.5 kB"),
  ...budget("node", "11 kB", "19.7 kB"),
  ...budget("socketio", "8.5 kB", "17.2 kB"),
  ...budget("mcp", "21.6 kB", "33 kB"),
  check("dist/otel.js", "otel alone", "15 kB", DEPENDENCIES),
  check("dist/openapi.js", "openapi alone", "40 kB", DEPENDENCIES),
  ...budget("page", "28.5 kB", "37.5 kB"),
  ...budget("revocation", "4 kB", "4 kB"),
  check("dist/replay.js", "replay alone", "1.5 kB", DEPENDENCIES),
  ...budget("trpc", "8.4 kB", "17.2 kB"),
  // It contains the dependencies that cannot be required. A bundler cannot leave out parts of zod in CommonJS.
  check("dist/index.cjs", "index in CommonJS, without zod", "55.5 kB", DEPENDENCIES),
];
