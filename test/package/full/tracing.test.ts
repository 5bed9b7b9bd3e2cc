/** The packed package together with packages that wrap the functions of Express and Koa, such as tracers. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { findPacked, ROOT } from "../packed.ts";
import { install } from "./strangers.ts";
import { type Folder, type Framework, FRAMEWORKS, PINNED, type Wrapper, WRAPPERS } from "./wrappers.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { reportMissing } from "../../support/missing.ts";
import { runChild } from "../../support/child-limit.ts";

interface Audit {
  readonly ok: boolean;
  readonly alarms: readonly string[];
  readonly thrown?: string;
}

/** What `test/package/programs/tracing.cts` prints. */
interface Report {
  readonly first: object;
  readonly last: object;
  readonly statuses: object;
  readonly addedFrames: number;
  readonly replacedHandlers: number;
  readonly isTraced: boolean;
  readonly packagesOnStack: readonly string[];
  readonly audits: Readonly<Record<"first" | "none" | "late" | "twice", Audit>>;
}

/** With enough scopes, without a token, and with each set of scopes that is not enough. */
const ANSWERS = {
  "/agents/public": ["200 /agents/:agent_id for user-1", "401", "403"],
  "/teams/settings": ["200 /teams/:team_id for user-1", "401", "403", "403"],
  "/files/latest": ["200 /files/:file_id for user-1", "401", "403", "403"],
  "/agents/web": ["200 /agents/:agent_id for user-1", "401", "403"],
};

const CASES = Object.entries(WRAPPERS).flatMap(([name, wrapper]) =>
  wrapper.orders.flatMap((order) =>
    (Object.keys(wrapper.onStack) as Framework[]).map(
      (framework) => [`${framework}, ${name} loaded ${order} it`, framework, wrapper, order] as const,
    ),
  ),
);

const root = temporaryFolder("tracing");

const isOffline = !canReachRegistry();
if (isOffline) {
  // Hooks do not run where all tests are skipped.
  rmSync(root, { recursive: true });
  reportMissing("test/package/full/tracing.test.ts", "npm cannot reach its registry");
}

function canReachRegistry(): boolean {
  const args = ["view", "express@5.3.0", "version", "--fetch-retries=0", "--fetch-timeout=10000"];
  return runChild("npm", args, { cwd: root }).status === 0;
}

function installAll(): void {
  const program = readFileSync(join(ROOT, "test/package/programs/tracing.cts"), "utf8");
  const { code } = transformSync(program, { loader: "ts", format: "cjs", target: "node20" });
  for (const folder of Object.keys(PINNED) as Folder[]) {
    const packages = Object.entries(PINNED[folder]).map(([name, version]) => `${name}@${version}`);
    const own = folder === "." ? [findPacked().tarball] : [];
    // dd-trace traces without its optional native dependencies, which are large.
    install(join(root, folder), ["--omit=optional", "--ignore-scripts", ...own, ...packages]);
    writeFileSync(join(root, folder, "tracing.cjs"), code);
  }
}

function drive(framework: Framework, wrapper: Wrapper, order: "before" | "after"): Report {
  const { name, folder } = FRAMEWORKS[framework];
  const { total = 500, path = "all" } = wrapper;
  writeFileSync(join(root, folder, "wrapper.cjs"), wrapper.code);
  const args = ["./tracing.cjs", name, String(total), path];
  const withWrapper =
    order === "before" ? ["--require", "./wrapper.cjs", ...args] : [...args, "./wrapper.cjs"];
  const { stdout, stderr } = runChild(process.execPath, withWrapper, { cwd: join(root, folder) });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as Report;
}

const ABOUT_GUARDS = expect.stringMatching(/guard|protect/) as string;

describe.skipIf(isOffline)("the package together with a wrapper", () => {
  beforeAll(installAll);

  describe.each(CASES)("%s", (_, framework, wrapper, order) => {
    let report: Report;
    beforeAll(() => {
      report = drive(framework, wrapper, order);
    });

    it("calls handlers through the wrapper", () => {
      const { [framework]: onStack } = wrapper.onStack;
      expect(report.isTraced).toBe(wrapper.isTracer);
      expect(report.packagesOnStack).toEqual(
        expect.arrayContaining(["scopegate", ...(onStack === undefined ? [] : [onStack])]),
      );
    });

    it(`responds to ${wrapper.total ?? 500} requests with 200`, () => {
      expect(report.statuses).toEqual({ "200": wrapper.total ?? 500 });
    });

    it(`allows and refuses correctly, at first and after ${wrapper.total ?? 500} requests`, () => {
      expect(report.first).toEqual(ANSWERS);
      expect(report.last).toEqual(ANSWERS);
    });

    it("adds no wrapper to a handler for each request", () => {
      expect(report.addedFrames).toBe(0);
      expect(report.replacedHandlers).toBe(0);
    });

    it("audits a guarded application without an error, or warns that it finds no guard", () => {
      const { ok, alarms, thrown } = report.audits.first;
      expect(thrown).toBeUndefined();
      if (!ok) expect(alarms).toContainEqual(ABOUT_GUARDS);
    });

    it("reports no guarded route as unguarded where one route has a second guard", () => {
      const { alarms, thrown } = report.audits.twice;
      expect(thrown).toBeUndefined();
      expect(alarms).not.toContainEqual(expect.stringContaining("route_unguarded"));
    });

    it("reports an application without a guard", () => {
      expect(report.audits.none.alarms).toContainEqual(ABOUT_GUARDS);
    });

    it("reports a route that is registered before the guard, or warns that it finds no guard", () => {
      expect(report.audits.late.alarms).toContainEqual(ABOUT_GUARDS);
    });
  });
});
