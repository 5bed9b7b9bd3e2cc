/** The store that remembers which DPoP proofs were used. */
import { describe, expect, it } from "vitest";
import { memoryStore, type Store } from "scopegate/store";
import { createServer } from "../../support/resource-servers.ts";

const createBound = (replay: Store) =>
  createServer({ senderConstraint: { dpop: { origins: ["https://api.example"], replay } } });

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
