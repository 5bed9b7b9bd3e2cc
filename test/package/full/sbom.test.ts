import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BUNDLED } from "../../../scripts/bundled.ts";
import { LONG_CHILD_LIMIT } from "../../support/child-limit.ts";
import { manifest, ROOT } from "../packed.ts";

interface BillOfMaterials {
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

it("lists every package that is installed or bundled, and no other", () => {
  const printed = execFileSync("npm", ["run", "--silent", "sbom"], {
    ...LONG_CHILD_LIMIT,
    cwd: ROOT,
    encoding: "utf8",
  });
  const { metadata, components } = JSON.parse(printed) as BillOfMaterials;
  expect(metadata.component).toMatchObject({ name: "scopegate", version: manifest.version });
  // None of them has dependencies.
  const expected = new Set([...Object.keys(manifest.dependencies), ...BUNDLED]);
  expect(components.map(({ name }) => name).sort()).toEqual([...expected].sort());
  for (const { name, version } of components) {
    const installed = readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8");
    expect({ name, version }).toEqual({ name, version: (JSON.parse(installed) as typeof manifest).version });
  }
});
