/** What an entry loads, minified and gzipped: of this package alone, and with everything that it depends on. */
const DEPENDENCIES = ["fastify-plugin", "jose", "leven", "path-to-regexp", "zod"];

const budget = (entry, alone, whole) =>
  [
    { name: `${entry} alone`, limit: alone, ignore: DEPENDENCIES },
    { name: `${entry} with its dependencies`, limit: whole },
  ].map((check) => ({
    ...check,
    path: `dist/${entry}.js`,
    gzip: true,
    modifyEsbuildConfig: (config) => ({ ...config, platform: "node", logLevel: "error" }),
  }));

export default [
  ...budget("index", "36 kB", "51 kB"),
  ...budget("express", "14.5 kB", "24.5 kB"),
  ...budget("koa", "14 kB", "24 kB"),
  ...budget("fastify", "15 kB", "26 kB"),
  ...budget("testing", "13 kB", "28 kB"),
  ...budget("node", "8 kB", "17 kB"),
];
