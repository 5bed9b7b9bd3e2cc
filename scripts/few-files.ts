/**
 * Makes few files of the build: one of what the core does with requests, and one of what adapters share.
 *
 * esbuild puts modules into one file if exactly the same entry points need them: a service would load more than 70
 * files, and opening a file takes longer than running it. So every module outside of the core loads all that the front
 * door needs without zod, and every adapter all that adapters share. Bundlers leave out what isn't used.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";

const NAME = "few-files";
const SRC = fileURLToPath(new URL("../src/", import.meta.url));

const CORE = /\/src\/(?:core\/|index\.ts$)/;
const ADAPTER = /\/src\/adapters\/(?!shared\/)/;
const CONSTANT = /^((?:export )?const \w+(?:: [^=]+)? = )(?=new |[\w.]+\()/gmu;

/** For esbuild and tsup. */
export const fewFiles: Plugin = {
  name: NAME,
  setup(bundle) {
    const frontDoor = [...reach(join(SRC, "index.ts"))];
    const shared = readdirSync(join(SRC, "adapters/shared"));
    const files = {
      core: importAll(
        frontDoor.filter(
          (module) => module.startsWith(SRC) && ![...reach(module)].some((name) => name.startsWith("zod")),
        ),
      ),
      shared: importAll(shared.map((name) => join(SRC, "adapters/shared", name))),
    };
    bundle.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      // A bundler can leave out a constant that nobody uses, whatever function makes it.
      const code = readFileSync(path, "utf8").replace(CONSTANT, "$1/* @__PURE__ */ ");
      const needed = [...(CORE.test(path) ? [] : ["core"]), ...(ADAPTER.test(path) ? ["shared"] : [])];
      const imports = importAll(needed.map((name) => `${NAME}:${name}`));
      return { contents: `${code}\n${imports}`, loader: "ts", resolveDir: dirname(path) };
    });
    bundle.onResolve({ filter: /^few-files:/ }, ({ path }) => ({
      path: path.slice(NAME.length + 1),
      namespace: NAME,
      sideEffects: true,
    }));
    bundle.onLoad({ filter: /./, namespace: NAME }, ({ path }) => ({
      contents: files[path as keyof typeof files],
      resolveDir: SRC,
    }));
    // Without this, imports without names are left out: the package says that it has no side effects.
    bundle.onResolve({ filter: /^[./]/ }, ({ path, resolveDir }) => {
      const file = resolve(resolveDir, path);
      return file.startsWith(SRC) ? { path: file, sideEffects: true } : undefined;
    });
  },
};

/** The module, and the modules and packages that it needs to run. */
function reach(module: string, found = new Set<string>()): Set<string> {
  if (found.has(module)) return found;
  found.add(module);
  if (!module.startsWith(SRC)) return found;
  const imports = readFileSync(module, "utf8").matchAll(
    /^(?:import|export) (?!type )[^;]*? from "(.+)";$/gmu,
  );
  for (const [, name = ""] of imports)
    reach(name.startsWith(".") ? resolve(dirname(module), name) : name, found);
  return found;
}

function importAll(names: readonly string[]): string {
  return names.map((name) => `import ${JSON.stringify(name)};`).join("\n");
}
