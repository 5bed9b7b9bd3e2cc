import { describe, expect, it, vi } from "vitest";
import { type KeyFetch } from "scopegate";
import { createIssuer } from "../support/issuer.ts";
import { COOLDOWN, createRemote, MAX_AGE, setOf } from "../support/remote-keys.ts";

const first = createIssuer({ kid: "first" });
const second = createIssuer({ kid: "second" });
const HOST = "https://issuer.example";
const JWKS = `${HOST}/jwks`;
const OPENID = "/.well-known/openid-configuration";
const OAUTH = "/.well-known/oauth-authorization-server";

/** What is answered where: a document, or a status. Everything else answers 404. */
type Places = Readonly<Record<string, unknown>>;

function remoteOf(issuer: string, places: Places, discovery: true | string = true) {
  const asked: string[] = [];
  const fetch = vi.fn<KeyFetch>((url) => {
    asked.push(url);
    const { [url]: answer = 404 } = places;
    return Promise.resolve(
      typeof answer === "number" ? new Response(null, { status: answer }) : Response.json(answer),
    );
  });
  const remote = createRemote({ discovery, fetch }, { issuer });
  const token = first.token({ iss: issuer });
  return { ...remote, asked, verdictOfFirst: async () => remote.verdict(await token) };
}

const metadataOf = (issuer: string, jwksUri: unknown = JWKS) => ({ issuer, jwks_uri: jwksUri });

describe("the metadata of an issuer", () => {
  it.each<readonly [string, readonly string[]]>([
    [HOST, [HOST + OPENID, HOST + OAUTH]],
    [`${HOST}/`, [HOST + OPENID, HOST + OAUTH]],
    [`${HOST}/tenant`, [`${HOST}/tenant${OPENID}`, `${HOST}${OAUTH}/tenant`, `${HOST}${OPENID}/tenant`]],
    [`${HOST}/tenant/`, [`${HOST}/tenant${OPENID}`, `${HOST}${OAUTH}/tenant`, `${HOST}${OPENID}/tenant`]],
    [`${HOST}/a/b%2Fc`, [`${HOST}/a/b%2Fc${OPENID}`, `${HOST}${OAUTH}/a/b%2Fc`, `${HOST}${OPENID}/a/b%2Fc`]],
    [`${HOST}:84`, [`${HOST}:84${OPENID}`, `${HOST}:84${OAUTH}`]],
  ])("of %s is looked up in these places, in this order", async (issuer, urls) => {
    const nowhere = remoteOf(issuer, {});
    expect(await nowhere.verdictOfFirst()).toBe("unavailable");
    expect(nowhere.asked).toEqual(urls);
    for (const [index, url] of urls.entries()) {
      const { verdictOfFirst, asked } = remoteOf(issuer, { [url]: metadataOf(issuer), [JWKS]: setOf(first) });
      expect(await verdictOfFirst()).toBe("accepted");
      expect(asked).toEqual([...urls.slice(0, index + 1), JWKS]);
    }
  });

  it.each([400, 401, 403, 404, 405, 410])("is looked up in the next place after a %i", async (status) => {
    const places = { [HOST + OPENID]: status, [HOST + OAUTH]: metadataOf(HOST), [JWKS]: setOf(first) };
    expect(await remoteOf(HOST, places).verdictOfFirst()).toBe("accepted");
  });

  it.each<readonly [string, unknown, string]>([
    ["a 500", 500, "returned status 500."],
    ["a 503", 503, "returned status 503."],
    ["a 429", 429, "returned status 429."],
    ["a 204", 204, "returned status 204."],
    [
      "metadata of another issuer",
      metadataOf("https://else.example"),
      'returned metadata of issuer "https://else.example", but the configured issuer is "https://issuer.example".',
    ],
  ])(
    "is not looked up elsewhere after %s, which does not say that it is not there",
    async (_, answer, why) => {
      const places = { [HOST + OPENID]: answer, [HOST + OAUTH]: metadataOf(HOST), [JWKS]: setOf(first) };
      const { verdictOfFirst, asked, events } = remoteOf(HOST, places);
      expect(await verdictOfFirst()).toBe("unavailable");
      expect(asked).toEqual([HOST + OPENID]);
      expect(events).toMatchObject([
        { type: "failed", source: `${HOST}/`, issuer: HOST, message: `${HOST}${OPENID} ${why}` },
      ]);
    },
  );

  it.each<readonly [string, unknown]>([
    ["with a slash more", `${HOST}/`],
    ["in another case", "https://Issuer.example"],
    ["with its port", `${HOST}:443`],
    ["with a path", `${HOST}/tenant`],
    ["over http", "http://issuer.example"],
    ["nowhere", undefined],
    ["as null", null],
    ["in a list", [HOST]],
    ["at great length", HOST + "/canary".repeat(10_000)],
  ])("must name it exactly: not %s", async (_, named) => {
    const { verdictOfFirst, asked, events } = remoteOf(HOST, {
      [HOST + OPENID]: { issuer: named, jwks_uri: JWKS },
      [JWKS]: setOf(first),
    });
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OPENID]);
    expect(events[0]?.message).toContain("returned metadata of ");
    expect(events[0]?.message?.length).toBeLessThan(400);
  });

  it.each<readonly [string, unknown]>([
    ["is missing", undefined],
    ["is no text", [JWKS]],
    ["is empty", ""],
    ["is relative", "/jwks"],
    ["is http", "http://issuer.example/jwks"],
    ["is a file", "file:///etc/jwks.json"],
    ["holds credentials", "https://me:canary@issuer.example/jwks"],
    ["is on this machine", "http://127.0.0.1:8080/jwks"],
    ["is on this machine, by name", "http://localhost/jwks"],
    ["is on this machine, over https", "https://127.0.0.1:8080/jwks"],
    ["is on this machine, over https and by name", "https://localhost/jwks"],
    ["is on this machine, by a name with a dot", "https://localhost./jwks"],
    ["is on this machine, by a name below", "https://keys.localhost/jwks"],
    ["is on this machine, unspecified", "https://0.0.0.0/jwks"],
    ["is on this machine, unspecified in IPv6", "https://[::]/jwks"],
    ["is on this machine, in IPv6", "https://[::1]/jwks"],
    ["is on this machine, mapped to IPv6", "https://[::ffff:127.0.0.1]/jwks"],
    ["is on this machine, unspecified and mapped", "https://[::ffff:0.0.0.0]/jwks"],
  ])("leads nowhere when its jwks_uri %s", async (_, jwksUri) => {
    const { verdictOfFirst, asked, events } = remoteOf(HOST, {
      [HOST + OPENID]: { issuer: HOST, jwks_uri: jwksUri },
    });
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OPENID]);
    expect(events[0]?.message).toMatch(
      /^https:\/\/issuer\.example\/\.well-known\/openid-configuration returned metadata (?:without an https `jwks_uri`|whose `jwks_uri` is on this machine)\.$/,
    );
    expect(JSON.stringify(events)).not.toContain("canary");
  });

  it("is told of in printable ASCII when it names another issuer", async () => {
    const { verdictOfFirst, events } = remoteOf(HOST, {
      [HOST + OPENID]: metadataOf("\u001b[31m\n\u009b2J\u202e\u2028\u007fé"),
    });
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(events[0]?.message).toContain('"\\u001b[31m\\n\\u009b2J\\u202e\\u2028\\u007f\\u00e9"');
  });

  it.each([null, [], "metadata", true, {}])("leads nowhere when it is %j", async (metadata) => {
    const { verdictOfFirst, events } = remoteOf(HOST, { [HOST + OPENID]: metadata });
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(events[0]?.message).toContain("returned metadata of no issuer, but");
  });

  it("may name a set at another origin, whose faults are told without its query", async () => {
    const elsewhere = "https://keys.example/set?key=canary";
    const metadata = { [HOST + OPENID]: metadataOf(HOST, elsewhere) };
    const good = remoteOf(HOST, { ...metadata, [elsewhere]: setOf(first) });
    expect(await good.verdictOfFirst()).toBe("accepted");
    const bad = remoteOf(HOST, { ...metadata, [elsewhere]: 500 });
    expect(await bad.verdictOfFirst()).toBe("unavailable");
    expect(bad.events).toMatchObject([{ message: "https://keys.example/set returned status 500." }]);
  });

  it("is read anew with every set, which may have moved", async () => {
    const places: Record<string, unknown> = { [HOST + OPENID]: metadataOf(HOST), [JWKS]: setOf(first) };
    const { verdictOfFirst, asked, pass, verdict } = remoteOf(HOST, places);
    expect(await verdictOfFirst()).toBe("accepted");
    Object.assign(places, { [HOST + OPENID]: metadataOf(HOST, `${JWKS}/2`), [`${JWKS}/2`]: setOf(second) });
    pass(MAX_AGE);
    expect(await verdictOfFirst()).toBe("key");
    expect(await verdict(await second.token({ iss: HOST }))).toBe("accepted");
    expect(asked).toHaveLength(4);
  });

  it("that cannot be had leaves the keys of before in use, and is asked for once per cooldown", async () => {
    const places: Record<string, unknown> = { [HOST + OPENID]: metadataOf(HOST), [JWKS]: setOf(first) };
    const { verdictOfFirst, asked, pass } = remoteOf(HOST, places);
    await verdictOfFirst();
    places[HOST + OPENID] = 500;
    pass(MAX_AGE);
    for (let turn = 0; turn < 3; turn += 1) expect(await verdictOfFirst()).toBe("accepted");
    expect(asked).toHaveLength(3);
    pass(COOLDOWN);
    await verdictOfFirst();
    expect(asked).toHaveLength(4);
  });
});

describe("discovery by a URL", () => {
  it.each<readonly [string, string]>([
    ["of the document itself", `https://proxy.example/a${OPENID}/b?c=d`],
    ["of what stands in for the issuer", "https://proxy.example/a"],
  ])("%s must lead to metadata of the configured issuer", async (_, url) => {
    const document = url.includes("well-known") ? url : url + OPENID;
    for (const [named, expected] of [
      ["agents", "accepted"],
      [url, "unavailable"],
    ] as const) {
      const places = { [document]: metadataOf(named), [JWKS]: setOf(first) };
      const { verdictOfFirst, asked } = remoteOf("agents", places, url);
      expect(await verdictOfFirst()).toBe(expected);
      expect(asked[0]).toBe(document);
    }
  });

  it("of the document itself looks nowhere else", async () => {
    const { verdictOfFirst, asked } = remoteOf(HOST, {}, HOST + OAUTH);
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OAUTH]);
  });

  it.each(["http://localhost:8080/jwks", "http://[::1]/jwks"])(
    "on this machine may name a set there: %s",
    async (jwksUri) => {
      const url = "http://127.0.0.1:8080";
      const places = { [url + OPENID]: metadataOf("agents", jwksUri), [jwksUri]: setOf(first) };
      expect(await remoteOf("agents", places, url).verdictOfFirst()).toBe("accepted");
    },
  );
});
