/** Bundles the script of the policy page as a string, for the build and for tests of the source. */
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const NAME = "virtual:policy-page";
const root = fileURLToPath(new URL("..", import.meta.url));

/** The server has checked the methods of its table, so that each of them is known. */
const METHODS: Plugin = {
  name: "methods",
  setup(bundle) {
    bundle.onResolve({ filter: /^node:http$/ }, ({ path }) => ({ path, namespace: "methods" }));
    bundle.onLoad({ filter: /./, namespace: "methods" }, () => ({
      contents: "export const METHODS = { includes: () => true };",
    }));
  },
};

/** A module whose default export is the script. */
async function renderModule(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ["src/tools/page/browser/main.ts"],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    legalComments: "none",
    write: false,
    plugins: [METHODS],
  });
  const script = outputFiles[0]?.text.trim() ?? "";
  if (/<!--|<\/?script/i.test(script)) throw new Error("The script of the page would end its element.");
  return `export default ${JSON.stringify(script)};`;
}

/** For esbuild and tsup. */
export const esbuildPage: Plugin = {
  name: NAME,
  setup(bundle) {
    bundle.onResolve({ filter: /^virtual:policy-page$/ }, ({ path }) => ({ path, namespace: NAME }));
    bundle.onLoad({ filter: /./, namespace: NAME }, async () => ({ contents: await renderModule() }));
  },
};

/** For vitest. */
export const vitePage = {
  name: NAME,
  resolveId: (id: string) => (id === NAME ? `\0${NAME}` : undefined),
  load: (id: string) => (id === `\0${NAME}` ? renderModule() : undefined),
};
