/** Runs a test that fails at first, with the settings of CI. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runChild } from "./child-limit.ts";
import { temporaryFolder } from "./folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const folder = temporaryFolder("retries");

it("records tests that needed a retry in CI, and restores their spies before each try", () => {
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
  const env = { ...process.env, CI: "true", RETRIED_TESTS: retried };
  const config = join(ROOT, "vitest.config.ts");
  const args = ["vitest", "run", "--config", config, "--root", folder, "--globals"];
  expect(runChild("npx", args, { cwd: ROOT, env })).toMatchObject({ status: 0 });
  expect(readFileSync(retried, "utf8")).toMatch(/^\S*flaky\.test\.ts > a suite > fails at first \(1\)\n$/);
});

it.each([
  [0, 0],
  [2, 0],
  [3, 1],
])("prints %i retried tests, and ends `.ci/run` with %i", (count, status) => {
  const retried = join(folder, "printed");
  const names = Array.from({ length: count }, (_, index) => `a.test.ts > test ${index} (1)\n`).join("");
  writeFileSync(retried, names);
  const ran = runChild("bash", [".ci/report-retries", retried], { cwd: ROOT });
  expect(ran.status, ran.stderr).toBe(status);
  expect(ran.stdout).toContain(names);
  expect(ran.stdout).toContain(`${count} tests needed a retry`);
});
