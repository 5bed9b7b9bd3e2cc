/** Issuers that are found while the server runs. */
import { describe, expect, it, vi } from "vitest";
import { createResourceServer, KeysUnavailableError } from "scopegate";
import { revalidate, untilExpiry } from "scopegate/connections";
import { issuersFrom } from "scopegate/issuers";
import { jwks, remoteKeys } from "scopegate/keys";
import { createTestIssuer } from "scopegate/testing";
import { mistakesOf } from "../../support/resource-servers.ts";
import { collectWarnings, createFinding, createTenant } from "./support.ts";

const acme = createTenant("acme");
const globex = createTenant("globex");
const reading = { scopes: ["orgs:read"] };
const signed = (changes: object = {}) => acme.issuer.token({ ...reading, ...changes });

describe("issuersFrom", () => {
  it("accepts tokens of issuers that `find` knows, and returns their tenant", async () => {
    const { answer, server, asked } = createFinding([acme, globex]);
    expect(await answer(await signed())).toBe("200");
    expect(await answer(await globex.issuer.token(reading), "/orgs/globex")).toBe("200");
    expect((await server.authenticate(await signed())).tenant).toBe("acme");
    expect(asked.mock.calls).toEqual([[acme.record.issuer], [globex.record.issuer]]);
  });

  it("asks once for 200 forged tokens of one unknown issuer, concurrent or not", async () => {
    const { answer, asked, pass } = createFinding([acme]);
    const forge = (index: number) => signed({ issuer: "https://unknown.example", tokenId: `${index}` });
    const tokens = await Promise.all(Array.from({ length: 200 }, (_, index) => forge(index)));
    const answers = await Promise.all(tokens.slice(0, 100).map((token) => answer(token)));
    for (const token of tokens.slice(100)) answers.push(await answer(token));
    expect(new Set(answers)).toEqual(new Set(["401 issuer"]));
    expect(asked).toHaveBeenCalledTimes(1);
    pass(31);
    await answer(tokens[0] ?? "");
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it("asks for new names at a bounded rate, and rejects the tokens of others without a call", async () => {
    const { answer, asked, pass } = createFinding([acme]);
    expect(await answer(await signed())).toBe("200");
    const forge = (index: number) => signed({ issuer: `https://unknown-${index}.example` });
    for (let index = 0; index < 300; index += 1) expect(await answer(await forge(index))).toBe("401 issuer");
    expect(asked).toHaveBeenCalledTimes(100);
    expect(await answer(await globex.issuer.token(reading))).toBe("401 issuer");
    expect(await answer(await signed({ tokenId: "2" }))).toBe("200");
    pass(1);
    for (let index = 300; index < 400; index += 1) await answer(await forge(index));
    expect(asked).toHaveBeenCalledTimes(120);
  });

  const header = encode({ alg: "ES256" });

  it.each([
    ["a string that isn't a token", "x.y"],
    ["an invalid header", "e30.e30.AA"],
    ["a header that isn't base64url", "a+b.e30.AA"],
    ["an unsecured token", `${encode({ alg: "none" })}.${encode({ iss: acme.record.issuer })}.`],
    ["a token without iss", `${header}.${encode({})}.AAAA`],
    ["an iss that is an array", `${header}.${encode({ iss: [acme.record.issuer] })}.AAAA`],
    ["an iss that is a number", `${header}.${encode({ iss: 1 })}.AAAA`],
    ["two iss", `${header}.${base64url('{"iss":"a","iss":"b"}')}.AAAA`],
    ["a payload that isn't canonical base64url", `${header}.eyJpc3MiOiJhIn1.AAAA`],
    ["crit", `${encode({ alg: "ES256", crit: ["x"] })}.${encode({ iss: "a" })}.AAAA`],
    ["too many bytes", `${header}.${encode({ iss: "a", x: "x".repeat(16_384) })}.AAAA`],
    ["an iss of 2,001 characters", `${header}.${encode({ iss: "a".repeat(2_001) })}.AAAA`],
  ])("doesn't ask for a token with %s", async (_, token) => {
    const { answer, asked } = createFinding([acme]);
    expect(await answer(token)).toMatch(/^401 /);
    expect(asked).not.toHaveBeenCalled();
  });

  it("passes only the exact `iss` to `find`", async () => {
    const { answer, asked } = createFinding([acme]);
    const names = [
      "https://login.acme.example/",
      "HTTPS://login.acme.example",
      " https://login.acme.example",
    ];
    for (const issuer of names) expect(await answer(await signed({ issuer }))).toBe("401 issuer");
    expect(asked.mock.calls).toEqual(names.map((name) => [name]));
  });

  it("verifies the tokens of each issuer only with its own key, even if two keys have the same kid (GHSA-g6vg-wj8f-48cj)", async () => {
    const { answer } = createFinding([acme, globex]);
    expect(acme.issuer.key.kid).toBe(globex.issuer.key.kid);
    expect(await answer(await signed())).toBe("200");
    expect(await answer(await globex.issuer.token(reading), "/orgs/globex")).toBe("200");
    const forged = await globex.issuer.token({ ...reading, issuer: acme.record.issuer });
    expect(await answer(forged)).toBe("401 signature");
    expect(await answer(await signed({ issuer: globex.record.issuer }), "/orgs/globex")).toBe(
      "401 signature",
    );
  });

  it("fetches the keys of two issuers from one URL for each of them", async () => {
    const keyServer = await acme.issuer.listen();
    const keys = remoteKeys({ jwksUri: keyServer.jwksUri });
    const records = [acme, globex].map((tenant) => ({ ...tenant, record: { ...tenant.record, keys } }));
    const { answer } = createFinding(records, { allowPrivate: true });
    expect(await answer(await signed())).toBe("200");
    expect(await answer(await globex.issuer.token(reading), "/orgs/globex")).toBe("401 signature");
    expect(keyServer.requests.jwks).toBeGreaterThan(1);
    await keyServer.close();
  });
});

describe("a record of find", () => {
  it("is asked for again after `freshSeconds`", async () => {
    const { answer, asked, pass } = createFinding([acme], { freshSeconds: 10 });
    await answer(await signed());
    pass(9);
    await answer(await signed({ tokenId: "2" }));
    expect(asked).toHaveBeenCalledTimes(1);
    pass(1);
    expect(await answer(await signed())).toBe("200");
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it("is asked for as rarely as that of an unknown issuer after its removal", async () => {
    const { answer, asked, records, pass } = createFinding([acme], { freshSeconds: 10 });
    expect(await answer(await signed())).toBe("200");
    records.clear();
    pass(10);
    for (let tries = 0; tries < 50; tries += 1) expect(await answer(await signed())).toBe("401 issuer");
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it("is asked for once a second while `find` fails for it, even if forged tokens name its issuer", async () => {
    let fails = false;
    const find = () => (fails ? Promise.reject(new Error("down")) : Promise.resolve(acme.record));
    const { answer, asked, pass } = createFinding([], { find, freshSeconds: 10 });
    expect(await answer(await signed())).toBe("200");
    fails = true;
    pass(10);
    const forged = await globex.issuer.token({ ...reading, issuer: acme.record.issuer });
    for (let tries = 0; tries < 50; tries += 1) expect(await answer(forged)).toBe("503 keys_unavailable");
    expect(asked).toHaveBeenCalledTimes(2);
    pass(1);
    fails = false;
    expect(await answer(await signed())).toBe("200");
    expect(asked).toHaveBeenCalledTimes(3);
  });

  it("doesn't take the server out of use if `find` fails for a name that anyone can invent", async () => {
    const find = (issuer: string) => (new URL(issuer).hostname === "" ? undefined : acme.record);
    const { answer, server } = createFinding([], { find });
    expect(await answer(await signed({ issuer: "x" }))).toBe("503 keys_unavailable");
    expect(server.health().status).toBe("ok");
    expect(server.keys).toMatchObject([{ source: "issuersFrom", lastFailure: {} }]);
  });

  it("keeps its keys while it stays the same", async () => {
    const keyServer = await acme.issuer.listen();
    const find = () => ({
      ...acme.record,
      keys: remoteKeys({ jwksUri: keyServer.jwksUri }),
      scopes: ["orgs:read"],
    });
    const { answer, pass } = createFinding([], { find, allowPrivate: true, freshSeconds: 10 });
    for (let round = 0; round < 5; round += 1) {
      expect(await answer(await signed())).toBe("200");
      pass(10);
    }
    expect(keyServer.requests.jwks).toBe(1);
    await keyServer.close();
  });

  it.each<[string, Partial<typeof acme.record> | undefined, string]>([
    ["is removed", undefined, "401 issuer"],
    ["has other keys", { keys: globex.record.keys ?? jwks({ keys: [] }) }, "401 signature"],
    ["has a mistake", { scopes: undefined as never }, "503 keys_unavailable"],
  ])("ends remembered tokens when it %s, until it's as before", async (_, changes, expected) => {
    collectWarnings();
    const { answer, records, pass } = createFinding([acme], { freshSeconds: 10 });
    const token = await signed();
    expect(await answer(token)).toBe("200");
    if (changes) records.set(acme.record.issuer, { ...acme.record, ...changes });
    else records.delete(acme.record.issuer);
    expect(await answer(token)).toBe("200");
    pass(10);
    expect(await answer(token)).toBe(expected);
    records.set(acme.record.issuer, acme.record);
    pass(31);
    expect(await answer(token)).toBe("200");
  });

  it("ends remembered tokens when it changes, even if `find` returns the same object", async () => {
    const record = { ...acme.record, tenant: "acme", scopes: ["orgs:read"] };
    const { answer, pass } = createFinding([], { find: () => record, freshSeconds: 10 });
    const token = await signed();
    expect(await answer(token)).toBe("200");
    record.scopes.pop();
    pass(10);
    expect(await answer(token)).toBe("403 scope_insufficient");
    record.scopes.push("orgs:read");
    record.tenant = "globex";
    pass(10);
    expect(await answer(token)).toBe("403 caller_not_allowed");
    expect(await answer(token, "/orgs/globex")).toBe("200");
  });

  it("keeps at most `maxIssuers`, and asks again for others", async () => {
    const { answer, asked, server } = createFinding([acme, globex], { maxIssuers: 1 });
    const token = await signed();
    expect(await answer(token)).toBe("200");
    expect(await answer(await globex.issuer.token(reading), "/orgs/globex")).toBe("200");
    expect(server.keys.map(({ issuer }) => issuer)).toEqual([undefined, globex.record.issuer]);
    expect(await answer(token)).toBe("200");
    expect(asked).toHaveBeenCalledTimes(3);
  });

  it.each(["removed", "changed"])("ends open connections when it's %s", async (how) => {
    const { server, records, pass } = createFinding([acme], { freshSeconds: 10 });
    const principal = await server.authenticate(await signed());
    expect(await revalidate(server, principal)).toMatchObject({ valid: true });
    pass(10);
    expect(await revalidate(server, principal)).toMatchObject({ valid: true });
    if (how === "removed") records.delete(acme.record.issuer);
    else records.set(acme.record.issuer, { ...acme.record, scopes: [] });
    expect(await revalidate(server, principal)).toMatchObject({ valid: true });
    pass(10);
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "revoked" });
    const onEnd = vi.fn();
    untilExpiry(principal, { server, onEnd });
    await vi.waitFor(() => expect(onEnd).toHaveBeenCalledTimes(1));
    expect(onEnd.mock.calls[0]?.[0]).toMatchObject({ reason: "revoked", closeCode: 4401 });
  });

  it("keeps open connections when it was only forgotten", async () => {
    const { server } = createFinding([acme, globex], { maxIssuers: 1 });
    const principal = await server.authenticate(await signed());
    await server.authenticate(await globex.issuer.token(reading));
    expect(await revalidate(server, principal)).toMatchObject({ valid: true });
  });

  it("ends open connections as unavailable when `find` fails", async () => {
    const { server, asked, pass } = createFinding([acme], { freshSeconds: 10 });
    const principal = await server.authenticate(await signed());
    asked.mockRejectedValue(new Error("canary"));
    pass(10);
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "unavailable" });
  });
});

describe("a failure of find", () => {
  it.each([
    [
      "throws",
      () => {
        throw new Error("canary");
      },
    ],
    ["rejects", () => Promise.reject(new Error("canary"))],
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- A function may reject with anything.
    ["rejects with a string", () => Promise.reject("canary")],
    ["takes too long", () => new Promise<undefined>(() => undefined)],
  ])("is 503 without its text: %s", async (_, find) => {
    const { check, server } = createFinding([], { find, timeoutMs: 20 });
    const decision = await check(await signed());
    if (decision.allowed) throw new Error("allowed");
    expect(decision.reason).toBe("keys_unavailable");
    const { status, body } = server.refuse(decision);
    expect(status).toBe(503);
    expect(body).not.toContain("canary");
    const { cause } = decision as { readonly cause: Error };
    expect(cause.message).toBe("The issuer of the token couldn't be looked up: `find` failed or timed out.");
    expect(cause.cause).toBeUndefined();
    await expect(server.authenticate(await signed())).rejects.toThrow(KeysUnavailableError);
    expect(server.keys).toMatchObject([{ source: "issuersFrom", lastFailure: {} }]);
  });

  it("ends with the next answer, and refuses known issuers until then", async () => {
    const { answer, asked, pass, server } = createFinding([acme], { freshSeconds: 10 });
    const token = await signed();
    expect(await answer(token)).toBe("200");
    asked.mockRejectedValueOnce(new Error("canary"));
    pass(10);
    expect(await answer(token)).toBe("503 keys_unavailable");
    expect(server.health().status).toBe("degraded");
    pass(1);
    expect(await answer(token)).toBe("200");
    expect(server.health().status).toBe("ok");
  });
});

describe("a record with a mistake", () => {
  const { scopes: _, ...withoutScopes } = acme.record;
  it.each([
    ["no scopes", withoutScopes, "record.scopes: is missing, but a record needs it. Write the scopes"],
    ["null", null, "plain object"],
    ["a string", "acme", "plain object"],
    ["an instance of a class", Object.assign(new Error(), acme.record), "plain object"],
    ["a misspelled name", { ...acme.record, tennant: "acme" }, "Did you mean `tenant`?"],
    ["plain keys", { ...acme.record, keys: { jwksUri: "https://a.example" } }, "remoteKeys({ jwksUri })"],
    ["an undefined tenant", { ...acme.record, tenant: undefined }, "record.tenant: can't be undefined."],
    ["HS256", { ...acme.record, algorithms: ["HS256"], keys: undefined }, "record.keys"],
    [
      "another issuer",
      { ...acme.record, issuer: "https://other.example" },
      "isn't the `iss` that was asked for",
    ],
    ["a scope with a comma", { ...acme.record, scopes: ["a:b,c:d"] }, "has a comma"],
    ["a large tolerance", { ...acme.record, clockToleranceSeconds: 301 }, "Write 300 or less."],
    [
      "no keys",
      Object.fromEntries(Object.entries(acme.record).filter(([name]) => name !== "keys")),
      "is missing",
    ],
  ])("is 503, and one warning that says the fix: %s", async (_, record, fix) => {
    const warnings = collectWarnings();
    const { answer, asked, pass } = createFinding([], { find: () => record as never });
    for (let round = 0; round < 3; round += 1) {
      expect(await answer(await signed({ tokenId: `${round}` }))).toBe("503 keys_unavailable");
      pass(20);
    }
    expect(asked).toHaveBeenCalledTimes(2);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('The trust record of "https://login.acme.example" can\'t be used');
    expect(warnings[0]).toContain(fix);
  });

  it("can't have HS* algorithms: a shared secret would let the service sign for the tenant", async () => {
    const warnings = collectWarnings();
    const symmetric = createTestIssuer({
      algorithm: "HS256",
      issuer: acme.record.issuer,
      audience: "agents-prod",
    });
    const find = () => ({ ...symmetric.trustedIssuer, scopes: ["orgs:read"] });
    const { answer } = createFinding([], { find });
    expect(await answer(await symmetric.token(reading))).toBe("503 keys_unavailable");
    expect(warnings[0]).toContain("record.algorithms: contains HS*, which a record can't have.");
  });
});

describe("the server of issuersFrom", () => {
  it("is ready without a question or a request", async () => {
    const { server, asked } = createFinding([acme]);
    await server.ready();
    await server.ready({ all: true });
    expect(asked).not.toHaveBeenCalled();
    expect(server.health()).toMatchObject({
      status: "ok",
      keys: [{ source: "issuersFrom", state: "not loaded" }],
    });
  });

  it("isn't unavailable because the keys of one tenant are", async () => {
    collectWarnings();
    const keys = remoteKeys({ jwksUri: "http://127.0.0.1:1/keys" });
    const { server, answer } = createFinding([{ ...acme, record: { ...acme.record, keys } }], {
      allowPrivate: true,
    });
    expect(await answer(await signed())).toBe("503 keys_unavailable");
    expect(server.health()).toMatchObject({ status: "degraded" });
    expect(server.keys[1]).toMatchObject({ issuer: acme.record.issuer, state: "unavailable" });
  });

  it("refreshes the keys of known issuers", async () => {
    const keyServer = await acme.issuer.listen();
    const record = { ...acme.record, keys: remoteKeys({ jwksUri: keyServer.jwksUri }) };
    const { server, answer } = createFinding([{ ...acme, record }], { allowPrivate: true });
    await answer(await signed());
    await server.refreshKeys();
    expect(keyServer.requests.jwks).toBe(2);
    await keyServer.close();
  });

  it("uses the clock tolerance and the audience of the record, and otherwise those of the server", async () => {
    const tolerant = { ...acme.record, clockToleranceSeconds: 60, audience: "agents-acme" };
    const { server, answer } = createFinding([{ ...acme, record: tolerant }, globex]);
    const changes = { ...reading, audience: "agents-acme", expiresIn: -30 };
    const principal = await server.authenticate(await acme.issuer.token(changes));
    expect(await revalidate(server, principal)).toMatchObject({ valid: true });
    expect(await answer(await signed())).toBe("401 audience");
    expect(await answer(await globex.issuer.token({ ...reading, expiresIn: -30 }))).toBe("401 expired");
  });

  it.each([
    ["no function", () => issuersFrom("no" as never), "option_invalid issuers find"],
    [
      "an unknown option",
      () => issuersFrom(() => undefined, { fresh: 1 } as never),
      "option_unknown issuers fresh",
    ],
    ["0 issuers", () => issuersFrom(() => undefined, { maxIssuers: 0 }), "option_invalid issuers maxIssuers"],
    [
      "options that aren't an object",
      () => issuersFrom(() => undefined, 5 as never),
      "option_invalid issuers",
    ],
  ])("can't be created with %s", (_, create, mistake) => {
    const options = { serviceId: "a", issuers: create() };
    expect(mistakesOf(() => createResourceServer(options)).map((issue) => issue.join(" "))).toEqual([
      mistake,
    ]);
  });

  it("can't be created with keys or an issuer of its own", () => {
    const options = { serviceId: "a", issuer: "b", issuers: issuersFrom(() => undefined) };
    expect(mistakesOf(() => createResourceServer(options))).toEqual([["option_conflict", "issuer"]]);
  });
});

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function encode(value: unknown): string {
  return base64url(JSON.stringify(value));
}
