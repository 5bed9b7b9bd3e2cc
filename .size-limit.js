/** What an entry loads, minified and gzipped: of this package alone, and with everything that it depends on. */
const DEPENDENCIES = ["fastify-plugin", "jose", "leven", "path-to-regexp", "zod"];

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
  ...budget("index", "38 kB", "53 kB"),
  ...budget("express", "15 kB", "25 kB"),
  ...budget("koa", "14 kB", "24 kB"),
  ...budget("fastify", "15 kB", "26 kB"),
  ...budget("testing", "14 kB", "28 kB"),
  ...budget("node", "9 kB", "18 kB"),
  // It contains the dependencies that cannot be required. A bundler cannot leave out parts of zod in CommonJS.
  check("dist/index.cjs", "index in CommonJS, without zod", "47 kB", DEPENDENCIES),
];
