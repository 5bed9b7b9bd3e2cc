/**
 * Checks that a version can be published, and prints every mistake with its fix. The release workflow runs it first.
 *
 *     npm run release:check -- v1.2.3
 *     npm run --silent release:check -- v1.2.3 --notes    prints the section of CHANGELOG.md
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { changelogSection, type Release, releaseMistakes } from "./release-mistakes.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { notes: { type: "boolean", default: false } },
});
const [tag] = positionals;
if (tag === undefined) throw new TypeError("Pass the tag of the version, such as v1.2.3.");

const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
const manifest = JSON.parse(read("package.json")) as Release["manifest"];
const changelog = read("CHANGELOG.md");
const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
const mistakes = releaseMistakes({
  manifest,
  changelog,
  readme: read("README.md"),
  hasFile: (path) => files.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, "")}/`)),
  tag,
  publisher:
    GITHUB_SERVER_URL !== undefined && GITHUB_REPOSITORY !== undefined
      ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`
      : undefined,
});

for (const mistake of mistakes) console.error(mistake);
if (mistakes.length > 0) process.exitCode = 1;
else if (values.notes) console.log(changelogSection(changelog, manifest.version)?.text);
else console.log(`${tag} can be published.`);
