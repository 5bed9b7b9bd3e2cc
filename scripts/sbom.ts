/**
 * Prints the software bill of materials of the package, as CycloneDX: what is installed with it, and what is bundled in
 * its files. `npm sbom --omit dev` is not enough. It leaves out zod, which is bundled, and every dependency that a
 * development dependency uses as well.
 *
 *     npm run --silent sbom > scopegate.cdx.json
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BUNDLED } from "./bundled.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
}

interface BillOfMaterials {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(`${root}/${folder}/package.json`, "utf8")) as Manifest;

const manifest = manifestOf(".");
const direct = [...new Set([...Object.keys(manifest.dependencies), ...BUNDLED])].sort().map((name) => {
  return `${name}@${manifestOf(`node_modules/${name}`).version}`;
});

const all = JSON.parse(
  execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  }),
) as BillOfMaterials;

const reached = new Set<string>();
const waiting = [...direct];
for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
  if (reached.has(ref)) continue;
  reached.add(ref);
  const dependency = all.dependencies.find((entry) => entry.ref === ref);
  if (dependency === undefined) throw new Error(`npm sbom does not list ${ref}: run npm ci.`);
  waiting.push(...dependency.dependsOn);
}

const { component } = all.metadata;
const bill = {
  ...all,
  // npm takes the name from the folder.
  metadata: { ...all.metadata, component: { ...component, name: manifest.name } },
  components: all.components
    .filter((entry) => reached.has(entry["bom-ref"]))
    // npm marks zod as a development dependency, but its code is in the package.
    .map((entry) => ({ ...entry, properties: [] })),
  dependencies: [
    { ref: component["bom-ref"], dependsOn: direct },
    ...all.dependencies.filter(({ ref }) => reached.has(ref)),
  ],
};
console.log(JSON.stringify(bill, undefined, 2));
