/** Bundles the library for a browser. What it uses of Node.js only for tokens and keys is left out. */
import { METHODS } from "node:http";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const NAME = "virtual:playground-engine";

/** The parts of Node.js that creating a server and explaining a decision call. All others throw. */
const BUILTINS: Readonly<Record<string, string>> = {
  // The playground shows no digest of the policy.
  "node:crypto": `exports.createHash = () => ({ update() { return this; }, digest: () => "" });`,
  "node:http": `exports.METHODS = ${JSON.stringify(METHODS)};`,
  "node:util": `
    exports.debuglog = () => Object.assign(() => {}, { enabled: false });
    exports.types = {
      isUint8Array: (value) => value instanceof Uint8Array,
      isKeyObject: () => false,
      isCryptoKey: () => false,
    };`,
  "node:diagnostics_channel": `exports.channel = (name) => ({ name, hasSubscribers: false, publish() {} });`,
};

const builtins: Plugin = {
  name: "builtins",
  setup(bundle) {
    bundle.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtins" }));
    bundle.onLoad({ filter: /./, namespace: "builtins" }, ({ path }) => ({
      contents: `${BUILTINS[path] ?? ""}
        module.exports = new Proxy(exports, {
          get: (target, name) => target[name] ?? class { constructor() { throw new Error("${path} is not available in a browser.") } },
        });`,
      loader: "js",
    }));
  },
};

/** The engine as one ECMAScript module. */
export async function bundleEngine(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("engine.ts", import.meta.url))],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    legalComments: "none",
    write: false,
    // Warnings, such as that about rules that allow more than the base table, are for operators.
    banner: { js: "const process = { emitWarning() {} };" },
    plugins: [builtins],
  });
  return outputFiles[0]?.text ?? "";
}

/** For the site. */
export const enginePlugin = {
  name: NAME,
  resolveId: (id: string) => (id === NAME ? `\0${NAME}` : undefined),
  load: (id: string) => (id === `\0${NAME}` ? bundleEngine() : undefined),
};
