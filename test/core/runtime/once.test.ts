/** Ids that may be used once, such as those of DPoP proofs. */
import { describe, expect, it } from "vitest";
import { memoryStore, type Store } from "scopegate/store";
import { UsedIds } from "../../../src/core/runtime/once.ts";
import { createServer } from "../../support/resource-servers.ts";

const MEMORY = { maxEntries: 100, now: Date.now };

const createBound = (replay: Store) =>
  createServer({ senderConstraint: { dpop: { origins: ["https://api.example"], replay } } });

describe("UsedIds", () => {
  it("returns true for one of the first calls with an id, which all share one memory", async () => {
    const ids = new UsedIds(undefined, MEMORY);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ids.add("a", 1_000, "client")));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(ids.fault).toBeUndefined();
  });

  it("uses the store of the option, and reports why it fails", async () => {
    const store = memoryStore();
    const set: Store["set"] = () => Promise.reject(new Error("OOM"));
    const ids = new UsedIds({ ...store, set }, MEMORY);
    await expect(ids.add("a", 1_000, "client")).rejects.toThrow("OOM");
    expect(ids.fault).toMatchObject({ message: "OOM" });
  });
});

describe("a server with a store of proofs", () => {
  it("rejects `ready` for a store that can't be written, with `readOnly` only if it can't be read", async () => {
    const set: Store["set"] = () => Promise.reject(new Error("READONLY"));
    const server = createBound({ ...memoryStore(), set });
    await server.ready({ readOnly: true });
    expect(server.health()).not.toHaveProperty("replayFault");
    await expect(server.ready()).rejects.toThrow("READONLY");
    expect(server.health()).toMatchObject({ status: "degraded", replayFault: { message: "READONLY" } });
    const get: Store["get"] = () => Promise.reject(new Error("NOPERM"));
    await expect(createBound({ ...memoryStore(), get }).ready({ readOnly: true })).rejects.toThrow("NOPERM");
  });
});
