import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { createReport, type RevocationEvent } from "../../../src/stores/revocation/events.ts";

describe("createReport", () => {
  let warnings: MockInstance<typeof process.emitWarning>;
  beforeEach(() => {
    warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  });
  afterEach(() => warnings.mockRestore());

  it.each<readonly [RevocationEvent, string]>([
    [
      { type: "failed", cause: new Error("connect ECONNREFUSED") },
      "The revocation store cannot be read: connect ECONNREFUSED.",
    ],
    [{ type: "failed", cause: "down" }, "The revocation store cannot be read: unknown error."],
    [
      { type: "stale", whenDown: "refuse" },
      "The revocation store could not be read for `staleSeconds`. Requests with a token get 503.",
    ],
    [
      { type: "stale", whenDown: "accept" },
      "The revocation store could not be read for `staleSeconds`. Newly revoked tokens are accepted.",
    ],
    [
      { type: "lost", entries: 3 },
      "The revocation store has lost 3 entries of this process. They are written again.",
    ],
    [
      { type: "clock_skew", seconds: -7 },
      "The clock of this process differs from the clock of Redis by -7 s.",
    ],
    [
      { type: "unreadable", ids: ["1-0", "2-0"] },
      "The revocation store has 2 entries that cannot be read. They are skipped.",
    ],
  ])("warns about an event that an operator has to act on: %j", (event, message) => {
    createReport(undefined)(event);
    expect(warnings.mock.calls).toEqual([[message, "ScopegateWarning"]]);
  });

  it.each<RevocationEvent>([
    { type: "caught_up", entries: 3 },
    { type: "restored", entries: 3 },
  ])("does not warn about an event that needs no action: %j", (event) => {
    createReport(undefined)(event);
    expect(warnings).not.toHaveBeenCalled();
  });

  it("calls the hook with each event instead of warning", () => {
    const onEvent = vi.fn();
    const event: RevocationEvent = { type: "lost", entries: 3 };
    createReport(onEvent)(event);
    expect(onEvent).toHaveBeenCalledExactlyOnceWith(event);
    expect(warnings).not.toHaveBeenCalled();
  });
});
