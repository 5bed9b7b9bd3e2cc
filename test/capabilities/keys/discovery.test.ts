import { describe, expect, it } from "vitest";
import { first, second } from "../../support/key-issuer.ts";
import { createRemote, MAX_AGE, setOf } from "../../support/remote-keys.ts";

const HOST = "https://issuer.example";
const JWKS = `${HOST}/jwks`;
const OPENID = "/.well-known/openid-configuration";
const OAUTH = "/.well-known/oauth-authorization-server";

/** The response for each URL: a document or a status. All other URLs return 404. */
type Documents = Record<string, unknown>;

function remoteOf(issuer: string, documents: Documents, discovery: true | string = true) {
  const asked: string[] = [];
  const fetch = (url: string) => {
    asked.push(url);
    const { [url]: answer = 404 } = documents;
    return Promise.resolve(
      typeof answer === "number" ? new Response(null, { status: answer }) : Response.json(answer),
    );
  };
  const remote = createRemote({ discovery, fetch }, { issuer });
  const token = first.token({ iss: issuer });
  return { ...remote, asked, verdictOfFirst: async () => remote.verdict(await token) };
}

const metadataOf = (issuer: unknown, jwksUri: unknown = JWKS) => ({ issuer, jwks_uri: jwksUri });
const good = { [HOST + OAUTH]: metadataOf(HOST), [JWKS]: setOf(first) };

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
    expect(nowhere.events[0]?.message).toBe(`${urls[0] ?? ""} returned status 404.`);
    for (const [index, url] of urls.entries()) {
      const { verdictOfFirst, asked } = remoteOf(issuer, { [url]: metadataOf(issuer), [JWKS]: setOf(first) });
      expect(await verdictOfFirst()).toBe("accepted");
      expect(asked).toEqual([...urls.slice(0, index + 1), JWKS]);
    }
  });

  it.each([400, 401, 403, 404, 405, 410])("tries the next URL after status %i", async (status) => {
    expect(await remoteOf(HOST, { ...good, [HOST + OPENID]: status }).verdictOfFirst()).toBe("accepted");
  });

  const NO_ISSUER = "returned metadata of no issuer, but the configured issuer is";
  const INSECURE = "returned metadata without an https `jwks_uri`.";
  const LOCAL = "returned metadata whose `jwks_uri` is on this machine.";
  it.each<readonly [string, unknown, string]>([
    ["status 500", 500, "returned status 500."],
    ["status 429", 429, "returned status 429."],
    ["status 204", 204, "returned status 204."],
    [
      "another issuer",
      metadataOf("https://else.example"),
      'returned metadata of issuer "https://else.example", but the configured issuer is "https://issuer.example".',
    ],
    ["an issuer with an extra slash", metadataOf(`${HOST}/`), `of issuer "${HOST}/", but`],
    ["an issuer in another letter case", metadataOf("https://Issuer.example"), '"https://Issuer.example"'],
    ["a very long issuer", metadataOf(HOST + "/canary".repeat(10_000)), `of issuer "${HOST}/canary`],
    [
      "control characters in its issuer, which it reports in ASCII",
      metadataOf("\u001b[31m\n\u009b2J\u202e\u2028\u007fé"),
      '"\\u001b[31m\\n\\u009b2J\\u202e\\u2028\\u007f\\u00e9"',
    ],
    ["an array as its issuer", metadataOf([HOST]), NO_ISSUER],
    ...[null, [], "metadata", true, {}].map((value) => [JSON.stringify(value), value, NO_ISSUER] as const),
    ["no jwks_uri", { issuer: HOST }, INSECURE],
    ["a jwks_uri that is not a string", metadataOf(HOST, [JWKS]), INSECURE],
    ...(
      [
        ["/jwks", INSECURE],
        ["http://issuer.example/jwks", INSECURE],
        ["https://me:canary@issuer.example/jwks", INSECURE],
        ["http://127.0.0.1:8080/jwks", LOCAL],
        ["http://localhost/jwks", LOCAL],
        ["https://127.0.0.1:8080/jwks", LOCAL],
        ["https://localhost/jwks", LOCAL],
        ["https://localhost./jwks", LOCAL],
        ["https://keys.localhost/jwks", LOCAL],
        ["https://0.0.0.0/jwks", LOCAL],
        ["https://[::]/jwks", LOCAL],
        ["https://[::1]/jwks", LOCAL],
        ["https://[::ffff:127.0.0.1]/jwks", LOCAL],
        ["https://[::ffff:0.0.0.0]/jwks", LOCAL],
      ] as const
    ).map(([uri, message]) => [`the jwks_uri ${uri}`, metadataOf(HOST, uri), message] as const),
  ])("rejects a response with %s, and tries no other URL", async (_, metadata, expected) => {
    const { verdictOfFirst, asked, events } = remoteOf(HOST, { ...good, [HOST + OPENID]: metadata });
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OPENID]);
    expect(events).toMatchObject([{ type: "failed", source: `${HOST}/`, issuer: HOST }]);
    const [{ message = "" } = {}] = events;
    expect(message.slice(0, HOST.length + OPENID.length)).toBe(HOST + OPENID);
    expect(message).toContain(expected);
    expect(message.length).toBeLessThan(400);
    expect(message).not.toContain("me:canary");
  });

  it("allows a JWK Set at another origin, and reports its errors without the query", async () => {
    const elsewhere = "https://keys.example/set?key=canary";
    for (const [set, expected, message] of [
      [setOf(first), "accepted", undefined],
      [500, "unavailable", "https://keys.example/set returned status 500."],
      [null, "unavailable", "https://keys.example/set didn't return a JWK Set."],
      [setOf(first).keys, "unavailable", "https://keys.example/set didn't return a JWK Set."],
      [{ keys: { first } }, "unavailable", "https://keys.example/set didn't return a JWK Set."],
    ] as const) {
      const documents = { [HOST + OPENID]: metadataOf(HOST, elsewhere), [elsewhere]: set };
      const { verdictOfFirst, events } = remoteOf(HOST, documents);
      expect(await verdictOfFirst()).toBe(expected);
      expect(events[0]?.message).toBe(message);
    }
  });

  it("requests the metadata again with every set, so that jwks_uri may change", async () => {
    const documents: Documents = { [HOST + OPENID]: metadataOf(HOST), [JWKS]: setOf(first) };
    const { verdictOfFirst, asked, pass, verdict } = remoteOf(HOST, documents);
    expect(await verdictOfFirst()).toBe("accepted");
    documents[HOST + OPENID] = metadataOf(HOST, `${JWKS}/2`);
    documents[`${JWKS}/2`] = setOf(second);
    pass(MAX_AGE);
    expect(await verdictOfFirst()).toBe("key");
    expect(await verdict(await second.token({ iss: HOST }))).toBe("accepted");
    expect(asked).toHaveLength(4);
  });
});

describe("discovery by a URL", () => {
  it.each([
    ["of the metadata document", `https://proxy.example/a${OPENID}/b?c=d`, ""],
    ["that replaces the issuer", "https://proxy.example/a", OPENID],
  ])("requires metadata of the configured issuer from a URL %s", async (_, url, suffix) => {
    for (const [issuer, expected] of [
      ["agents", "accepted"],
      [url, "unavailable"],
    ] as const) {
      const documents = { [url + suffix]: metadataOf(issuer), [JWKS]: setOf(first) };
      const { verdictOfFirst, asked } = remoteOf("agents", documents, url);
      expect(await verdictOfFirst()).toBe(expected);
      expect(asked[0]).toBe(url + suffix);
    }
  });

  it("tries no other URL than that of the metadata document", async () => {
    const { verdictOfFirst, asked } = remoteOf(HOST, {}, HOST + OAUTH);
    expect(await verdictOfFirst()).toBe("unavailable");
    expect(asked).toEqual([HOST + OAUTH]);
  });

  it.each(["http://localhost:8080/jwks", "http://[::1]/jwks"])(
    "allows metadata on this machine to name a set on this machine: %s",
    async (jwksUri) => {
      const url = "http://127.0.0.1:8080";
      const documents = { [url + OPENID]: metadataOf("agents", jwksUri), [jwksUri]: setOf(first) };
      expect(await remoteOf("agents", documents, url).verdictOfFirst()).toBe("accepted");
    },
  );
});
