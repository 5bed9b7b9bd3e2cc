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
      "The store of revocations doesn't respond: connect ECONNREFUSED.",
    ],
    [{ type: "failed", cause: "down" }, "The store of revocations doesn't respond: unknown error."],
    [
      { type: "stale", whenDown: "refuse" },
      "The store of revocations hasn't responded for `staleSeconds`. Requests with a token get 503.",
    ],
    [{ type: "warning", message: "Set noeviction." }, "Set noeviction."],
    [
      { type: "stale", whenDown: "accept" },
      "The store of revocations hasn't responded for `staleSeconds`. Newly revoked tokens are accepted.",
    ],
  ])("warns about an event that an operator has to act on: %j", (event, message) => {
    createReport(undefined)(event);
    expect(warnings.mock.calls).toEqual([[message, "ScopegateWarning"]]);
  });

  it("does not warn when the store responds again", () => {
    createReport(undefined)({ type: "recovered" });
    expect(warnings).not.toHaveBeenCalled();
  });

  it("calls the hook with each event instead of warning", () => {
    const onEvent = vi.fn();
    const event: RevocationEvent = { type: "recovered" };
    createReport(onEvent)(event);
    expect(onEvent).toHaveBeenCalledExactlyOnceWith(event);
    expect(warnings).not.toHaveBeenCalled();
  });
});
