/** The record of a tenant must not make this process send requests into the network (SSRF). */
import dns from "node:dns";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { remoteKeys } from "scopegate/keys";
import { guardFetch, isPublicAddress, lookUpPublic } from "../../src/capabilities/issuers/public-fetch.ts";
import { collectWarnings, createFinding, createTenant } from "../capabilities/issuers/support.ts";

let lookup = vi.spyOn(dns, "lookup");

/** The addresses that each name has, by the mocked resolver. */
const answerWith = (...addresses: readonly string[]) =>
  lookup.mockImplementation(((_name: string, _options: object, callback: (...values: unknown[]) => void) => {
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  }) as never);

const PRIVATE = [
  "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 127.0.0.1 127.255.255.255",
  "169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.168.0.1 198.18.0.1 224.0.0.1",
  "240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1",
  "::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0",
  "2606:4700::1111%eth0 ff02::1 2001::1 2001:db8::1 2002:7f00:1::",
].flatMap((line) => line.split(" "));
const PUBLIC = [
  "1.1.1.1 8.8.8.8 172.15.0.1 172.32.0.1 100.128.0.1 192.0.1.1 2606:4700::1111 2a00:1450::1",
].flatMap((line) => line.split(" "));

/** A port on loopback, and how often something has connected to it. */
async function listen() {
  let [connections, bytes] = [0, 0];
  const server = createServer((socket) => {
    connections += 1;
    socket.on("data", ({ length }) => {
      bytes += length;
      socket.destroy();
    });
    // The client may end the connection first.
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { readonly port: number };
  return { port, count: () => connections, received: () => bytes };
}

const fetchFrom = (url: string) =>
  guardFetch()(url, { method: "GET", headers: {}, redirect: "manual", signal: new AbortController().signal });

beforeEach(() => void (lookup = vi.spyOn(dns, "lookup")));
afterEach(() => lookup.mockRestore());

describe("an address", () => {
  it.each(PRIVATE)("isn't public: %s", (address) => expect(isPublicAddress(address)).toBe(false));
  it.each(PUBLIC)("is public: %s", (address) => expect(isPublicAddress(address)).toBe(true));
  it.each(["", "localhost", "1.2.3", "1.2.3.4.5", "0x7f.1", "2130706433"])("isn't public: %j", (address) =>
    expect(isPublicAddress(address)).toBe(false),
  );
});

describe("the keys of a record of find", () => {
  it.each([
    ...["https://127.0.0.1:PORT/keys", "https://127.1:PORT/keys", "https://2130706433:PORT/keys"],
    ...["https://0x7f.0.0.1:PORT/keys", "https://0177.0.0.1:PORT/keys", "https://[::1]:PORT/keys"],
    ...["https://[::ffff:127.0.0.1]:PORT/keys", "https://[64:ff9b::7f00:1]:PORT/keys"],
    ...["https://[2002:7f00:1::]:PORT/keys", "https://\uff11\uff12\uff17.0.0.1:PORT/keys"],
    ...["https://127\u30020\u30020\u30021:PORT/keys", "https://%31%32%37.0.0.1:PORT/keys"],
    ...["https://loca%6chost:PORT/keys", "https://10.0.0.1:PORT/keys"],
    ...["https://169.254.169.254/latest/meta-data", "https://localhost:PORT/keys"],
    ...["https://api.localhost:PORT/keys", "https://localhost.:PORT/keys", "http://127.0.0.1:PORT/keys"],
    ...["http://localhost:PORT/keys"],
  ])("aren't fetched from %s: nothing is sent", async (pattern) => {
    const warnings = collectWarnings();
    const { port, count } = await listen();
    const url = pattern.replace("PORT", String(port));
    for (const source of [{ jwksUri: url }, { discovery: url }]) {
      const acme = createTenant("acme", { keys: remoteKeys(source) });
      const { answer } = createFinding([acme]);
      expect(await answer(await acme.issuer.token({ scopes: ["orgs:read"] }))).toBe("503 keys_unavailable");
    }
    expect(count()).toBe(0);
    expect(warnings.join()).toContain("allowPrivate: true");
  });

  it.each([["127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["8.8.8.8", "127.0.0.1"], []])(
    "aren't fetched from a name that resolves to %s %s",
    async (...addresses) => {
      collectWarnings();
      const { port, count } = await listen();
      answerWith(...addresses.filter((address) => address));
      const acme = createTenant("acme", {
        keys: remoteKeys({ jwksUri: `https://keys.example:${port}/keys` }),
      });
      const { answer } = createFinding([acme]);
      expect(await answer(await acme.issuer.token({ scopes: ["orgs:read"] }))).toBe("503 keys_unavailable");
      expect(lookup).toHaveBeenCalled();
      expect(count()).toBe(0);
    },
  );

  it("aren't fetched from an address that wasn't looked up: there is one lookup, whose result is used", async () => {
    const { count, port } = await listen();
    answerWith("127.0.0.1");
    await expect(fetchFrom(`https://keys.example:${port}/`)).rejects.toThrow();
    expect(lookup.mock.calls.filter(([name]) => name === "keys.example")).toHaveLength(1);
    expect(count()).toBe(0);
  });

  it.each(["http://keys.example/keys", "http://1.1.1.1/keys", "ftp://keys.example/keys"])(
    "aren't fetched from %s, also by a `fetch` of the record",
    async (url) => {
      const fetch = vi.fn();
      const init = {
        method: "GET",
        headers: {},
        redirect: "manual",
        signal: new AbortController().signal,
      } as const;
      await expect(guardFetch(fetch)(url, init)).rejects.toThrow("need https URLs");
      expect(fetch).not.toHaveBeenCalled();
    },
  );

  it("aren't fetched from a private address that a socket has connected to in spite of the lookup", async () => {
    const { port, count, received } = await listen();
    let reads = 0;
    // The lookup reads a public address, and the socket another one.
    const changing = {
      family: 4,
      get address() {
        reads += 1;
        return reads === 1 ? "8.8.8.8" : "127.0.0.1";
      },
    };
    lookup.mockImplementation(((
      _name: string,
      _options: object,
      callback: (...values: unknown[]) => void,
    ) => {
      callback(null, [changing]);
    }) as never);
    await expect(fetchFrom(`https://keys.example:${port}/`)).rejects.toMatchObject({
      code: "PRIVATE_ADDRESS",
    });
    await expect.poll(count).toBe(1);
    expect(received()).toBe(0);
  });

  it("aren't fetched from a private URL that public metadata names", async () => {
    const warnings = collectWarnings();
    const urls: string[] = [];
    const acme = createTenant("acme");
    const fetch = (url: string) => {
      urls.push(url);
      return Promise.resolve(
        Response.json({ issuer: acme.record.issuer, jwks_uri: "https://169.254.169.254/keys" }),
      );
    };
    const keys = remoteKeys({ discovery: true, fetch });
    const { answer } = createFinding([{ ...acme, record: { ...acme.record, keys } }]);
    expect(await answer(await acme.issuer.token({ scopes: ["orgs:read"] }))).toBe("503 keys_unavailable");
    expect(urls).toEqual(["https://login.acme.example/.well-known/openid-configuration"]);
    expect(warnings.join()).toContain("169.254.169.254");
  });

  it("passes on that a name has no address", () => {
    const missing = Object.assign(new Error(), { code: "ENOTFOUND" });
    lookup.mockImplementation(((_name: string, _options: object, callback: (error: Error) => void) => {
      callback(missing);
    }) as never);
    const callback = vi.fn();
    lookUpPublic("keys.example", {}, callback);
    expect(callback).toHaveBeenCalledExactlyOnceWith(missing, "");
  });

  it("aren't fetched from a redirect within a name that now resolves to a private address", () => {
    const callback = vi.fn();
    answerWith("10.0.0.1");
    lookUpPublic("keys.example", {}, callback);
    expect(callback.mock.calls[0]?.[0]).toMatchObject({ code: "PRIVATE_ADDRESS" });
    answerWith("8.8.8.8", "2606:4700::1111");
    lookUpPublic("keys.example", {}, callback);
    expect(callback.mock.calls[1]).toEqual([null, "8.8.8.8", 4]);
    lookUpPublic("keys.example", { all: true }, callback);
    expect(callback.mock.calls[2]?.[1]).toHaveLength(2);
  });

  it("aren't fetched through the global fetch, which connects where it likes", async () => {
    const spy = vi.spyOn(globalThis, "fetch").mockResolvedValue(Response.json({ keys: [] }));
    onTestFinished(() => spy.mockRestore());
    answerWith("127.0.0.1");
    await expect(fetchFrom("https://keys.example/")).rejects.toThrow();
    expect(spy).not.toHaveBeenCalled();
  });

  it("are fetched from loopback with `allowPrivate: true`", async () => {
    const acme = createTenant("acme");
    const keyServer = await acme.issuer.listen();
    const record = { ...acme.record, keys: remoteKeys({ jwksUri: keyServer.jwksUri }) };
    const { answer } = createFinding([{ ...acme, record }], { allowPrivate: true });
    expect(await answer(await acme.issuer.token({ scopes: ["orgs:read"] }))).toBe("200");
    await keyServer.close();
  });
});
