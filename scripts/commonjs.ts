/**
 * Adds CommonJS to the build, for tools that cannot require an ECMAScript module: the same code, together with its
 * dependencies that are ECMAScript modules only. The types are copied, because TypeScript derives the module system
 * from the file name.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";
import config from "../tsup.config.ts";
import { BUNDLED } from "./bundled.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const ENGINE = { platform: "node", target: config.target } as const;

// The program is an ECMAScript module only.
const { cli: _, ...entryPoints } = config.entry;

const { outputFiles, metafile } = await build({
  entryPoints,
  absWorkingDir: root,
  outdir: dist,
  outExtension: { ".js": ".cjs" },
  bundle: true,
  // esbuild splits ECMAScript modules only.
  splitting: true,
  format: "esm",
  ...ENGINE,
  plugins: config.esbuildPlugins,
  external: ["@nestjs/common", "@opentelemetry/api", "on-headers"],
  // CommonJS has no `import.meta`.
  define: { "import.meta.url": "__filename" },
  write: false,
  metafile: true,
});
const names = Object.keys(metafile.inputs).flatMap(
  (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
);
const bundled = [...new Set(names)].sort().join(", ");
if (bundled !== BUNDLED.join(", "))
  throw new Error(`The build contains ${bundled}: list these packages in scripts/bundled.ts.`);

for (const { path, text } of outputFiles) {
  // Without `import()`: test runners that run CommonJS in a context of node:vm reject it.
  const { code } = await transform(text, {
    ...ENGINE,
    format: "cjs",
    supported: { "dynamic-import": false },
  });
  writeFileSync(path, code);
}

const licenses = BUNDLED.map((name) => {
  const folder = join(root, "node_modules", name);
  const file = readdirSync(folder).find((one) => /^license/i.test(one));
  if (!file) throw new Error(`${name} has no license file.`);
  return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
writeFileSync(
  join(dist, "licenses.txt"),
  `The files *.cjs of this folder and the policy page contain these packages, and the files *.js contain zod:\n\n${licenses.join("\n---\n\n")}`,
);

for (const file of readdirSync(dist).filter((name) => name.endsWith(".d.ts"))) {
  const types = readFileSync(join(dist, file), "utf8");
  const twin = types.replaceAll(/\b(?:from|import) '\.\/[^']*'/g, (local) =>
    local.replace(/\.js'$/, ".cjs'"),
  );
  writeFileSync(join(dist, file.replace(/\.ts$/, ".cts")), twin);
}
