import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { CHILD_LIMIT } from "../../support/child-limit.ts";

const MODULE = new URL("../../../src/tools/testing/test-key.ts", import.meta.url).href;

it("creates and exports 4,000 keys in a process whose garbage is collected often", () => {
  const program = `
    import { createPublicKey } from "node:crypto";
    import { generateKey } from ${JSON.stringify(MODULE)};
    for (let round = 0; round < 4_000; round += 1)
      createPublicKey(generateKey("ec", { namedCurve: "P-256" })).export({ format: "jwk" });
    console.log("created");
  `;
  // On Node.js 20, a process with these keys stopped after some thousand rounds.
  const args = ["--max-semi-space-size=1", "--import", "tsx", "--input-type=module", "--eval", program];
  const cwd = fileURLToPath(new URL("../../..", import.meta.url));
  const printed = execFileSync(process.execPath, args, { ...CHILD_LIMIT, cwd, encoding: "utf8" });
  expect(printed.trim()).toBe("created");
});
