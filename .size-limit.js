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
  ...budget("index", "34 kB", "49 kB"),
  ...budget("express", "12 kB", "22 kB"),
  ...budget("koa", "12 kB", "22 kB"),
  ...budget("fastify", "12.5 kB", "24 kB"),
  ...budget("testing", "13 kB", "28 kB"),
  ...budget("node", "6.5 kB", "16 kB"),
];
