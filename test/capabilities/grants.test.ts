/** Scopes of a role store, and whose data a caller may see. */
import { describe, expect, it, vi } from "vitest";
import { type Decision, createResourceServer } from "scopegate";
import { type Grants, grantsFrom } from "scopegate/grants";
import { pipelineOf } from "../../src/core/port.ts";
import { createServer, issuer, NOW, thrownBy, verdictOf } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const ROLES: Readonly<Record<string, readonly string[]>> = { u1: ["agents:read"], u2: ["teams:read"] };

interface Granting extends Partial<ResourceServerOptions> {
  readonly maxAgeSeconds?: number;
}

/** A server whose role store counts its lookups, and a clock that the test moves. */
function createGranting({ maxAgeSeconds = 30, ...options }: Granting = {}) {
  let now = NOW * 1000;
  const roles: Record<string, readonly string[]> = { ...ROLES };
  const asked: (string | undefined)[] = [];
  const server = createServer({
    now: () => now,
    grants: grantsFrom(
      ({ userId = "" }) => {
        asked.push(userId);
        return Promise.resolve(roles[userId] ?? []);
      },
      { maxAgeSeconds },
    ),
    ...options,
  });
  return { server, asked, roles, pass: (seconds: number) => void (now += seconds * 1000) };
}

const statusOf = async (server: ReturnType<typeof createServer>, token: string, target = "/agents") => {
  const decision = await server.check({ method: "GET", target, authorization: `Bearer ${token}` });
  return decision.allowed ? 200 : server.refuse(decision).status;
};

describe("grants", () => {
  it("adds the scopes of the store to those of the token", async () => {
    const { server } = createGranting();
    const token = await issuer.token({ sub: "u1", scopes: ["teams:read"] });
    const principal = await server.authenticate(token);
    expect(principal.scopes).toEqual(["teams:read", "agents:read"]);
    expect([principal.has("agents:read"), principal.resourceIds("agents", "read")]).toEqual([true, "all"]);
    expect(await statusOf(server, token)).toBe(200);
    expect(await statusOf(server, await issuer.token({ sub: "u2", scopes: [] }))).toBe(403);
  });

  it("looks a user up once for all tokens and concurrent requests, until `maxAgeSeconds`", async () => {
    const { server, asked, roles, pass } = createGranting({ maxAgeSeconds: 10 });
    const tokens = await Promise.all(
      [{ jti: "1" }, { jti: "2" }].map((one) => issuer.token({ sub: "u1", ...one })),
    );
    await Promise.all([...tokens, ...tokens].map((token) => server.authenticate(token)));
    expect(asked).toEqual(["u1"]);
    roles["u1"] = [];
    pass(9);
    expect((await server.authenticate(tokens[0] ?? "")).has("agents:read")).toBe(true);
    pass(1);
    expect((await server.authenticate(tokens[0] ?? "")).has("agents:read")).toBe(false);
    expect(asked).toEqual(["u1", "u1"]);
  });

  it("needs no promise while the token and the grants of its user are remembered", async () => {
    const { server, pass } = createGranting({ maxAgeSeconds: 10, isRevoked: () => false });
    const authorization = `Bearer ${await issuer.token({ sub: "u1" })}`;
    const decide = () =>
      pipelineOf(server).decide({ method: "GET", target: "/agents", authorization }, false);
    expect(await decide()).toMatchObject({ isAllowed: true });
    expect(decide()).toMatchObject({ isAllowed: true });
    pass(10);
    expect(decide()).toBeInstanceOf(Promise);
  });

  it("does not run for a token that is rejected or revoked", async () => {
    const { server, asked } = createGranting({ isRevoked: ({ userId }) => Promise.resolve(userId === "u2") });
    expect(await verdictOf(server, await issuer.token({ sub: "u1", exp: 1 }))).toBe("expired");
    expect(await verdictOf(server, await issuer.token({ sub: "u2" }))).toBe("revoked");
    expect(asked).toEqual([]);
  });

  it("reports to the operator what the store returned instead of scopes", async () => {
    const server = createServer({ grants: () => Promise.resolve("agents:read") as never });
    const authorization = `Bearer ${await issuer.token({ sub: "u1" })}`;
    expect(await server.check({ method: "GET", target: "/agents", authorization })).toMatchObject({
      cause: new TypeError("`grants` must return an array of strings."),
    });
  });

  it("returns 503 within a time limit if the store never responds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const authorization = `Bearer ${await issuer.token({ sub: "u1" })}`;
      let decision: Promise<Decision> | undefined;
      await new Promise<void>((resolve) => {
        const grants = () => {
          resolve();
          return new Promise<never>(() => undefined);
        };
        decision = createServer({ grants }).check({ method: "GET", target: "/agents", authorization });
      });
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await decision).toMatchObject({
        reason: "keys_unavailable",
        cause: new Error("`grants` timed out after 5000 ms."),
      });
    } finally {
      vi.useRealTimers();
    }
  });

  it("returns the same principal while the grants are the same, and freezes it", async () => {
    const { server } = createGranting();
    const token = await issuer.token({ sub: "u1" });
    const principal = await server.authenticate(token);
    expect(await server.authenticate(token)).toBe(principal);
    expect(Object.isFrozen(principal)).toBe(true);
  });

  it.each<readonly [string, () => unknown]>([
    ["rejects", () => Promise.reject(new Error("the database is down"))],
    [
      "throws",
      () => {
        throw new Error("the database is down");
      },
    ],
    ["returns a string instead of an array", () => Promise.resolve("agents:read")],
    ["returns other values", () => Promise.resolve([1])],
    ["returns an array with a hole", () => Promise.resolve(new Array(1))],
    ["returns nothing", () => undefined],
  ])("returns 503 and asks again with the next request if the store %s", async (_, answer) => {
    let isBroken = true;
    const grants = () => (isBroken ? answer() : Promise.resolve(["agents:read"])) as Promise<string[]>;
    const server = createServer({ grants });
    const token = await issuer.token({ sub: "u1" });
    expect(await statusOf(server, token)).toBe(503);
    expect(await verdictOf(server, token)).toBe("unavailable");
    isBroken = false;
    expect(await statusOf(server, token)).toBe(200);
  });

  it("keeps the grants of one user from another user and from the user of another issuer", async () => {
    const seen: string[] = [];
    const server = createServer({
      grants: ({ issuer: iss = "", userId = "" }) => {
        seen.push(`${iss} ${userId}`);
        return Promise.resolve(iss === "https://a.example/" ? ["agents:read"] : []);
      },
    });
    const tokens = ["https://a.example/", "https://b.example/"].map((iss) =>
      issuer.token({ sub: "u1", iss }),
    );
    const [one, other] = await Promise.all(tokens);
    expect(await statusOf(server, one ?? "")).toBe(200);
    expect(await statusOf(server, other ?? "")).toBe(403);
    expect(seen).toHaveLength(2);
  });

  it("passes only what identifies the user, because the result is used for all tokens of the user", async () => {
    const asked: unknown[] = [];
    const server = createServer({ grants: (user) => (asked.push(user), Promise.resolve([])) });
    await server.authenticate(await issuer.token({ sub: "u1", iss: "https://a.example/", tenant: "t1" }));
    await server.authenticate(await issuer.token({ sub: "u1", iss: "https://a.example/", tenant: "t2" }));
    await server.authenticate(await issuer.token({ sub: undefined }));
    expect(asked).toEqual([{ userId: "u1", issuer: "https://a.example/" }, {}]);
  });

  it("adds to each server that is created from one value", async () => {
    const grants = grantsFrom(() => Promise.resolve(["agents:read"]));
    const servers = [createServer({ grants, adminScope: "agents:read" }), createServer({ grants })];
    const token = await issuer.token({ sub: "u1" });
    const principals = await Promise.all(servers.map((server) => server.authenticate(token)));
    expect(principals.map((principal) => principal.has("teams:read"))).toEqual([true, false]);
  });
});

/** A value of `grantsFrom` with other properties, as another version of the package would make it. */
const valueLike = (properties: object): object =>
  Object.freeze(
    Object.assign(
      Object.create(null) as object,
      grantsFrom(() => Promise.resolve([])),
      properties,
    ),
  );

describe("a mistake in `grants`", () => {
  const lookup = () => Promise.resolve([]);
  const PATH = { path: ["grants"] };
  const IMPORT = { ...PATH, hint: "Write grantsFrom(lookup), imported from scopegate/grants." };
  const VERSION = expect.stringMatching(
    /^Install one version of scopegate: the value is of 0\.1\.0/,
  ) as unknown;
  const NULL = "Write grantsFrom(lookup, { maxAgeSeconds: 30 }), or only grantsFrom(lookup).";
  const LOOKUP = { path: ["grants", "lookup"] };
  const AGE = { path: ["grants", "maxAgeSeconds"], hint: "Write a number of seconds from 0 to 3600." };
  const UNKNOWN = {
    code: "option_unknown",
    path: ["grants", "maxAgeSecond"],
    hint: "Did you mean `maxAgeSeconds`?",
  };

  it.each<readonly [string, unknown, object]>([
    ["a function without grantsFrom", lookup, IMPORT],
    ["the value of another option", valueLike({ option: "keys" }), PATH],
    ["a copy", { ...grantsFrom(lookup) }, PATH],
    ["a copy without functions", JSON.parse(JSON.stringify(grantsFrom(lookup))), PATH],
    ["a value of another version", valueLike({ version: "0.1.0" }), { hint: VERSION }],
    [
      "a value of another version without options",
      valueLike({ version: "0.1.0", written: undefined }),
      { ...PATH, message: "can't be this object." },
    ],
    [
      "null instead of options",
      grantsFrom(lookup, null as never),
      { ...PATH, message: "can't be null.", hint: NULL },
    ],
    [
      "a look-up that is no function",
      grantsFrom("agents:read" as never),
      { ...LOOKUP, hint: expect.stringMatching(/^Write a function/) as unknown },
    ],
    ["a look-up in the options", grantsFrom(undefined as never, { lookup } as never), LOOKUP],
    ["an age outside of the limits", grantsFrom(lookup, { maxAgeSeconds: 3601 }), AGE],
    ["an unknown option", grantsFrom(lookup, { maxAgeSecond: 5 } as never), UNKNOWN],
    ["options that are no object", grantsFrom(lookup, 5 as never), PATH],
  ])("is reported with all others: %s", (_, grants, issue) => {
    const options = { serviceId: "agents-prod", verificationKeys: [issuer.publicPem], realm: 5 as never };
    const error = thrownBy(() => createResourceServer({ ...options, grants: grants as Grants }));
    expect(error.issues).toMatchObject([{ path: ["realm"] }, issue]);
  });
});
