import { describe, expect, it } from "vitest";
import { readWebRequest, targetOf, toResponse } from "../../src/adapters/shared/web-request.ts";
import { createIssuer } from "../support/issuer.ts";
import { createResourceServer } from "../support/server.ts";

const issuer = createIssuer();
const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  scopeMappings: { "GET /agents": ["agents:read"], "GET /maybe": "optional" },
});

const read = (url: string, headers: readonly (readonly [string, string])[] = [], method = "GET") => {
  const request = new Request(url, { method, headers: headers.map(([name, value]) => [name, value]) });
  return readWebRequest(request, request);
};

describe("the target of a Fetch-standard request", () => {
  it.each([
    ["http://127.0.0.1:3000/agents", "/agents"],
    ["https://agents.example", "/"],
    ["https://agents.example/Agents/%61?next=a/b#part", "/Agents/%61?next=a/b#part"],
    ["http://my_service:8080/agents?a://b/c", "/agents?a://b/c"],
    ["http://[::1]/agents", "/agents"],
  ])("reads %j as %j", (url, target) => {
    expect(read(url).target).toBe(target);
  });

  it.each([
    "data:text/plain,/agents",
    "agents",
    "/agents",
    "blob:nodedata:1/agents",
    "http://host",
    "http:///maybe/agents",
    "http:/maybe/agents",
    // What Deno makes of a Host with a path, a query, a fragment or user information, and the target `/maybe`.
    "http://a\\agents?/maybe",
    "http://a?/maybe",
    "http://a#/maybe",
    "http://a@b/maybe",
    "http://a\t/maybe",
  ])("reads %j as an empty target, which is refused", async (url) => {
    expect(targetOf(url)).toBe("");
    expect(await server.check({ method: "GET", target: targetOf(url) })).toMatchObject({
      reason: "request_ambiguous",
    });
  });

  it.each([
    ["http://a/agents?/maybe", "/agents"],
    ["http://a/maybe\nagents", "/maybeagents"],
    ["http://a/agents/../maybe", "/maybe"],
    ["http://a/agents\\..\\maybe", "/maybe"],
    ["http://a//maybe", "//maybe"],
  ])("decides %j by the path that a URL parser finds, or refuses it", async (url, path) => {
    expect(new URL(url).pathname).toBe(path);
    const { method, target } = readWebRequest({ method: "GET", url, headers: new Headers() }, {});
    expect(await server.check({ method, target })).toMatchObject({
      reason: path === "/agents" ? "credential_missing" : "request_ambiguous",
    });
  });

  it.each(["/agents#part", "/maybe?a#part"])("refuses the fragment of %j", async (path) => {
    expect(await server.check(read(`http://127.0.0.1${path}`))).toMatchObject({
      reason: "request_ambiguous",
    });
  });
});

describe("the credentials of a Fetch-standard request", () => {
  it.each([
    ["Bearer a.b.c", "Bearer a.b.c"],
    ["Basic dXNlcjpwYXNz", "Bearer a.b.c"],
    ["Bearer a.b.c", "Basic dXNlcjpwYXNz"],
    ["Basic dXNlcjpwYXNz", "bearer"],
    ['Digest username="a", realm="b"', "Bearer a.b.c"],
    ["Basic dXNlcjpwYXNz", "Negotiate  abc"],
    ["Basic dXNlcjpwYXNz", "Bearer\ta.b.c"],
  ])("refuses the fields %j and %j of one request, even where no token is needed", async (first, second) => {
    const request = read("http://127.0.0.1/maybe", [
      ["authorization", first],
      ["authorization", second],
    ]);
    expect(request.authorization).toEqual([first, second]);
    expect(await server.check(request)).toMatchObject({ reason: "credential_malformed" });
  });

  it.each(["", "x"])("refuses a token behind the field %j of the same request", async (first) => {
    const good = `Bearer ${await issuer.token({ scopes: ["agents:read"] })}`;
    const request = read("http://127.0.0.1/maybe", [
      ["authorization", first],
      ["authorization", good],
    ]);
    expect(await server.check(request)).toMatchObject({ reason: "credential_malformed" });
  });

  it.each([
    'Digest username="a", realm="b", uri="/agents"',
    'Digest username="a",realm = "b"',
    "Signature keyId=a,algorithm=b",
  ])("reads the one field %j of another scheme as one", async (field) => {
    const request = read("http://127.0.0.1/maybe", [["authorization", field]]);
    expect(request.authorization).toBe(field);
    expect(await server.check(request)).toMatchObject({ allowed: true });
  });
});

describe("the response of a refusal", () => {
  it("returns a new object for each request", async () => {
    const decision = await server.check({ method: "GET", target: "/agents" });
    if (decision.allowed) throw new Error("expected a refusal");
    const first = toResponse(server.refuse(decision));
    first.headers.set("cache-control", "public");
    await first.text();
    expect(toResponse(server.refuse(decision)).headers.get("cache-control")).toBe("no-store");
  });
});
