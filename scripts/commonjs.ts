/**
 * Adds CommonJS to the build. Each entry gets a file that requires the ECMAScript module, so that `require`
 * and `import` load the same copy, and a copy of its types, because TypeScript derives the module system from
 * the file name.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import config from "../tsup.config.ts";

const dist = new URL("../dist/", import.meta.url);

for (const entry of Object.keys(config.entry))
  writeFileSync(new URL(`${entry}.cjs`, dist), `"use strict";\nmodule.exports = require("./${entry}.js");\n`);

for (const file of readdirSync(dist).filter((name) => name.endsWith(".d.ts"))) {
  const types = readFileSync(new URL(file, dist), "utf8");
  const twin = types.replaceAll(/ from '\.\/[^']*'/g, (local) => local.replace(/\.js'$/, ".cjs'"));
  writeFileSync(new URL(file.replace(/\.ts$/, ".cts"), dist), twin);
}
