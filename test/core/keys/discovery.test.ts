import { describe, expect, it, vi } from "vitest";
import type { KeyFetch } from "scopegate/keys";
import { first, second } from "../../support/key-issuer.ts";
import { createRemote, MAX_AGE, setOf } from "../../support/remote-keys.ts";

const HOST = "https://issuer.example";
const JWKS = `${HOST}/jwks`;
const OPENID = "/.well-known/openid-configuration";
const OAUTH = "/.well-known/oauth-authorization-server";

/** The response for each URL: a document or a status. All other URLs return 404. */
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

describe("discovery of issuer metadata", () => {
  it.each<readonly [string, readonly string[]]>([
    [HOST, [HOST + OPENID, HOST + OAUTH]],
    [`${HOST}/`, [HOST + OPENID, HOST + OAUTH]],
    [`${HOST}/tenant`, [`${HOST}/tenant${OPENID}`, `${HOST}${OAUTH}/tenant`, `${HOST}${OPENID}/tenant`]],
    [`${HOST}/tenant/`, [`${HOST}/tenant${OPENID}`, `${HOST}${OAUTH}/tenant`, `${HOST}${OPENID}/tenant`]],
    [`${HOST}/a/b%2Fc`, [`${HOST}/a/b%2Fc${OPENID}`, `${HOST}${OAUTH}/a/b%2Fc`, `${HOST}${OPENID}/a/b%2Fc`]],
    [`${HOST}:84`, [`${HOST}:84${OPENID}`, `${HOST}:84${OAUTH}`]],
  ])("tries the URLs for %s in order", async (issuer, urls) => {
    const nowhere = remoteOf(issuer, {});
    expect(await nowhere.verdictOfFirst()).toBe("unavailable");
    expect(nowhere.asked).toEqual(urls);
    for (const [index, url] of urls.entries()) {
      const { verdictOfFirst, asked } = remoteOf(issuer, { [url]: metadataOf(issuer), [JWKS]: setOf(first) });
      expect(await verdictOfFirst()).toBe("accepted");
      expect(asked).toEqual([...urls.slice(0, index + 1), JWKS]);
    }
  });

  it.each([400, 401, 403, 404, 405, 410])("tries the next URL after status %i", async (status) => {
    const places = { [HOST + OPENID]: status, [HOST + OAUTH]: metadataOf(HOST), [JWKS]: setOf(first) };
    expect(await remoteOf(HOST, places).verdictOfFirst()).toBe("accepted");
  });

  it.each<readonly [string, unknown, string]>([
    ["status 500", 500, "returned status 500."],
    ["status 429", 429, "returned status 429."],
    ["status 204", 204, "returned status 204."],
    [
      "metadata of another issuer",
      metadataOf("https://else.example"),
      'returned metadata of issuer "https://else.example", but the configured issuer is "https://issuer.example".',
    ],
  ])("does not try another URL after %s", async (_, answer, why) => {
    const places = { [HOST + OPENID]: answer, [HOST + OAUTH]: metadataOf(HOST), [JWKS]: setOf(first) };
    const { verdictOfFirst, asked, events } = remoteOf(HOST, places);
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OPENID]);
    expect(events).toMatchObject([
      { type: "failed", source: `${HOST}/`, issuer: HOST, message: `${HOST}${OPENID} ${why}` },
    ]);
  });

  const NO_ISSUER = "returned metadata of no issuer, but";
  it.each<readonly [string, unknown, string]>([
    ["with an extra slash in its issuer", metadataOf(`${HOST}/`), `of issuer "${HOST}/", but`],
    [
      "with another letter case in its issuer",
      metadataOf("https://Issuer.example"),
      '"https://Issuer.example"',
    ],
    ["with a very long issuer", metadataOf(HOST + "/canary".repeat(10_000)), `of issuer "${HOST}/canary`],
    [
      "with control characters in its issuer, which it reports in ASCII",
      metadataOf("\u001b[31m\n\u009b2J\u202e\u2028\u007fé"),
      '"\\u001b[31m\\n\\u009b2J\\u202e\\u2028\\u007f\\u00e9"',
    ],
    ["with an array as its issuer", { issuer: [HOST], jwks_uri: JWKS }, NO_ISSUER],
    ...[null, [], "metadata", true, {}].map((value) => [JSON.stringify(value), value, NO_ISSUER] as const),
  ])("rejects metadata %s", async (_, metadata, message) => {
    const { verdictOfFirst, asked, events } = remoteOf(HOST, {
      [HOST + OPENID]: metadata,
      [JWKS]: setOf(first),
    });
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OPENID]);
    expect(events[0]?.message).toContain(message);
    expect(events[0]?.message?.length).toBeLessThan(400);
  });

  it.each<readonly [string, unknown]>([
    ["is missing", undefined],
    ["is not a string", [JWKS]],
    ["is relative", "/jwks"],
    ["is http", "http://issuer.example/jwks"],
    ["contains credentials", "https://me:canary@issuer.example/jwks"],
    ["is on this machine", "http://127.0.0.1:8080/jwks"],
    ["is on this machine by name", "http://localhost/jwks"],
    ["is on this machine over https", "https://127.0.0.1:8080/jwks"],
    ["is on this machine by name over https", "https://localhost/jwks"],
    ["is on this machine by a name with a trailing dot", "https://localhost./jwks"],
    ["is on this machine by a name below localhost", "https://keys.localhost/jwks"],
    ["is the unspecified address", "https://0.0.0.0/jwks"],
    ["is the unspecified IPv6 address", "https://[::]/jwks"],
    ["is the IPv6 loopback address", "https://[::1]/jwks"],
    ["is a loopback address mapped to IPv6", "https://[::ffff:127.0.0.1]/jwks"],
    ["is the unspecified address mapped to IPv6", "https://[::ffff:0.0.0.0]/jwks"],
  ])("rejects metadata whose jwks_uri %s", async (_, jwksUri) => {
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

  it("allows a JWK Set at another origin and reports its errors without the query", async () => {
    const elsewhere = "https://keys.example/set?key=canary";
    const metadata = { [HOST + OPENID]: metadataOf(HOST, elsewhere) };
    const good = remoteOf(HOST, { ...metadata, [elsewhere]: setOf(first) });
    expect(await good.verdictOfFirst()).toBe("accepted");
    const bad = remoteOf(HOST, { ...metadata, [elsewhere]: 500 });
    expect(await bad.verdictOfFirst()).toBe("unavailable");
    expect(bad.events).toMatchObject([{ message: "https://keys.example/set returned status 500." }]);
  });

  it("fetches the metadata again with every set, so that jwks_uri may change", async () => {
    const places: Record<string, unknown> = { [HOST + OPENID]: metadataOf(HOST), [JWKS]: setOf(first) };
    const { verdictOfFirst, asked, pass, verdict } = remoteOf(HOST, places);
    expect(await verdictOfFirst()).toBe("accepted");
    Object.assign(places, { [HOST + OPENID]: metadataOf(HOST, `${JWKS}/2`), [`${JWKS}/2`]: setOf(second) });
    pass(MAX_AGE);
    expect(await verdictOfFirst()).toBe("key");
    expect(await verdict(await second.token({ iss: HOST }))).toBe("accepted");
    expect(asked).toHaveLength(4);
  });
});

describe("discovery by a URL", () => {
  it.each<readonly [string, string]>([
    ["of the metadata document", `https://proxy.example/a${OPENID}/b?c=d`],
    ["that replaces the issuer URL", "https://proxy.example/a"],
  ])("requires a URL %s to return metadata of the configured issuer", async (_, url) => {
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

  it("tries no other URL when given the metadata document", async () => {
    const { verdictOfFirst, asked } = remoteOf(HOST, {}, HOST + OAUTH);
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OAUTH]);
  });

  it.each(["http://localhost:8080/jwks", "http://[::1]/jwks"])(
    "allows loopback metadata to name a loopback set: %s",
    async (jwksUri) => {
      const url = "http://127.0.0.1:8080";
      const places = { [url + OPENID]: metadataOf("agents", jwksUri), [jwksUri]: setOf(first) };
      expect(await remoteOf("agents", places, url).verdictOfFirst()).toBe("accepted");
    },
  );
});
