/** `npm run docs:site` builds the site, with the API reference and the live policy page. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, createServer } from "vitepress";
import { FILES, MOVED, redirectTo, ROOT } from "./pages.ts";
import { rawPages } from "./raw-pages.ts";
import { renderPolicy } from "./policy.ts";

const { values } = parseArgs({
  options: {
    /** Serves the site instead, and follows changes. */
    dev: { type: "boolean", default: false },
    out: { type: "string", default: "site/dist" },
    /** The path under which the site is served. */
    base: { type: "string", default: process.env["SITE_BASE"] ?? "/" },
  },
});
// The configuration writes addresses of files that VitePress doesn't.
process.env["SITE_BASE"] = values.base;
const site = fileURLToPath(new URL(".", import.meta.url));

// Without its options, typedoc writes to `docs` and deletes the pages that are there.
execFileSync(
  process.execPath,
  ["--import", "tsx", "node_modules/typedoc/bin/typedoc", "--options", "config/typedoc.js"],
  { cwd: ROOT, stdio: "inherit" },
);
mkdirSync(join(site, "public"), { recursive: true });
writeFileSync(join(site, "public/policy.html"), await renderPolicy());
for (const file of [...FILES, "docs/pictures/logo.svg", "docs/pictures/social.png"])
  copyFileSync(join(ROOT, file), join(site, "public", basename(file)));
for (const [address, text] of rawPages()) {
  const file = join(site, "public", address);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
for (const [address, target] of Object.entries(MOVED)) {
  const file = join(site, "public", `${address}.html`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, redirectTo(target));
}

if (values.dev) {
  const server = await createServer(site, { base: values.base });
  await server.listen();
  server.printUrls();
} else await build(site, { base: values.base, outDir: resolve(values.out) });
