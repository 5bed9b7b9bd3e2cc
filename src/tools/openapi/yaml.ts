/** Loads yaml, an optional peer dependency: projects with JSON documents don't need it. */
import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import { ConfigurationError, orUndefined } from "../../core/errors.ts";
import { issueAt } from "./document.ts";

/** Not `import()`, because documents are read and written synchronously. */
const loadPackage = (): unknown => createRequire(import.meta.url)("yaml");

/** @throws ConfigurationError if yaml isn't installed, or is older than version 2 */
export function loadYaml(load = loadPackage): typeof Yaml {
  const yaml = orUndefined(load) as Partial<typeof Yaml> | undefined;
  // Version 1 has no `visit`.
  if (yaml?.visit) return yaml as typeof Yaml;
  const problem = `needs the package \`yaml\`, which ${yaml ? "is older than version 2" : "isn't installed"}.`;
  const hint = "Run `npm install yaml` in the project of scopegate, or use JSON in which each key is unique.";
  throw new ConfigurationError([issueAt(["document"], problem, hint)]);
}
