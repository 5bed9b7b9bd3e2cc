/** Runs a test that fails at first, with the settings of CI. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { CHILD_LIMIT } from "./child-limit.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const makeFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "retries-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

it("records tests that needed a retry in CI, and restores their spies before each try", () => {
  const folder = makeFolder();
  const program = `
    let tries = 0;
    describe("a suite", () => {
      it("fails at first", () => {
        const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
        tries += 1;
        if (tries < 2) process.emitWarning("not yet");
        expect(warn).not.toHaveBeenCalled();
      });
      it("passes", () => {});
    });
  `;
  mkdirSync(join(folder, "test"));
  writeFileSync(join(folder, "test/flaky.test.ts"), program);
  const retried = join(folder, "retried");
  const args = [
    join(ROOT, "node_modules/vitest/vitest.mjs"),
    "run",
    "--config",
    join(ROOT, "vitest.config.ts"),
  ];
  execFileSync(process.execPath, [...args, "--root", folder, "--globals"], {
    ...CHILD_LIMIT,
    cwd: ROOT,
    env: { ...process.env, CI: "true", RETRIED_TESTS: retried },
    stdio: "pipe",
  });
  expect(readFileSync(retried, "utf8")).toMatch(/^\S*flaky\.test\.ts > a suite > fails at first \(1\)\n$/);
});

it.each([
  [0, 0],
  [2, 0],
  [3, 1],
])("prints %i retried tests, and ends `.ci/run` with %i", (count, status) => {
  const retried = join(makeFolder(), "retried");
  const names = Array.from({ length: count }, (_, index) => `a.test.ts > test ${index} (1)\n`).join("");
  writeFileSync(retried, names);
  const ran = spawnSync("bash", [".ci/report-retries", retried], {
    ...CHILD_LIMIT,
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(ran.status, ran.stderr).toBe(status);
  expect(ran.stdout).toContain(names);
  expect(ran.stdout).toContain(`${count} tests needed a retry`);
});
