import { describe, expect, it } from "vitest";
import { committedReport, currentReport } from "../scripts/api-report.ts";

const ADVICE = "The public API changed. Run `npm run api:report` and review the difference.";

const [committed, current] = [committedReport(), await currentReport()];

describe("the API report in config/api-report", () => {
  it("contains a page for each entry of the package", () => {
    expect([...current.keys()].sort(), ADVICE).toEqual([...committed.keys()].sort());
  });

  it.each([...current])(
    "equals the names, signatures, options and defaults of the code: %s",
    (file, text) => {
      expect(text, ADVICE).toBe(committed.get(file));
    },
  );
});
