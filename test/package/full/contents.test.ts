/** What the package contains, with its types. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ENTRIES, findPacked, ROOT, unpack } from "../packed.ts";
import { runChild } from "../../support/child-limit.ts";
import { temporaryFolder } from "../../support/folder.ts";

const project = temporaryFolder("package");
const packed = findPacked();
unpack(packed, project);

describe("the tarball", () => {
  it("contains only the build, its types, the documentation and the files of the root", () => {
    const others = packed.files.filter(
      (path) =>
        !/^dist\/(?:[\w.-]+\.(?:js|js\.map|cjs|d\.ts|d\.cts)|licenses\.txt)$|^docs\/[\w/-]+\.(?:md|svg)$|^examples\/(?:starters\/[\w-]+|browsers(?:\/public)?|complete|mcp|security-events|sockets|stores)\/[\w.-]+$/.test(
          path,
        ),
    );
    for (const page of ["docs/reference/options.md", "docs/migrate/README.md", "docs/pictures/request.svg"])
      expect(packed.files).toContain(page);
    expect(packed.files.filter((path) => path.startsWith("docs/api/"))).toEqual([]);
    expect(others.sort()).toEqual([
      ...["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "configuration.schema.json"],
      "docs/ci/policy.yml",
      ...[
        "docs/grafana/alerts.yml",
        "docs/grafana/scopegate.json",
        "docs/pictures/policy-page.png",
        "examples/README.md",
        "package.json",
      ],
    ]);
    for (const name of ENTRIES.keys())
      for (const type of ["js", "d.ts", "cjs", "d.cts"])
        expect(packed.files).toContain(`dist/${name}.${type}`);
  });

  it("contains types that TypeScript finds with every way to resolve modules", () => {
    const tool = join(ROOT, "node_modules/@arethetypeswrong/cli/dist/index.js");
    const { status, stdout } = runChild(process.execPath, [tool, packed.tarball, "--format", "ascii"], {});
    expect(status, stdout).toBe(0);
  });

  it("contains types that only import modules of Node, but for NestJS and OpenTelemetry", () => {
    const folder = join(project, "node_modules/scopegate");
    const types = packed.files.filter((path) => /\.d\.c?ts$/.test(path));
    const named = types.flatMap((path) => {
      const code = readFileSync(join(folder, path), "utf8").replaceAll(/\/\*\*.*?\*\//gs, "");
      return [...code.matchAll(/(?:from|import|import\() ?['"]([^'"]+)['"]/g)].map(([, name = ""]) => name);
    });
    expect(named).toContain("node:crypto");
    const others = named.filter((name) => !/^(?:node:|\.\/)/.test(name));
    expect([...new Set(others)]).toEqual(["@nestjs/common", "@opentelemetry/api"]);
  });
});
