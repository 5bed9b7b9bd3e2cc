/**
 * Adds CommonJS to the build: for each entry a file that requires the ECMAScript module, and its types once more, because
 * TypeScript tells the module system of types by the name of their file. Whatever loads the package gets one copy of it.
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
