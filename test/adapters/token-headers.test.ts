import { describe, expect, it } from "vitest";
import { withCredentialHeaders } from "../../src/adapters/shared/credential-headers.ts";
import { createServer } from "../support/resource-servers.ts";

describe("the header fields of tokenSources", () => {
  const server = createServer({
    tokenSources: [{ header: "authorization" }, { header: "proxy-authorization", scheme: null }],
  });
  const seen = { method: "GET", target: "/agents" };
  const headersOf = (raw: object) => withCredentialHeaders(server, raw, seen).headers;

  it("reads them from the request of Node.js, also a second one that it would drop", () => {
    const headers = { "proxy-authorization": "a", other: "b" };
    expect(headersOf({ headers })).toEqual({ "proxy-authorization": "a" });
    const rawHeaders = ["Proxy-Authorization", "a", "Other", "b", "proxy-authorization", "c"];
    expect(headersOf({ headers, rawHeaders })).toEqual({ "proxy-authorization": ["a", "c"] });
  });

  it("reads them from a request of the Fetch standard", () => {
    expect(headersOf(new Request("http://a.test", { headers: { "x-other": "b" } }))).toEqual({});
    const headers = { get: (name: string) => (name === "proxy-authorization" ? "a" : null) };
    expect(headersOf({ headers })).toEqual({ "proxy-authorization": "a" });
  });

  it("does not read them from a prototype", () => {
    expect(headersOf({ headers: Object.create({ "proxy-authorization": "a" }) as object })).toEqual({});
  });

  it("does not read them at all if no source names one", () => {
    expect(withCredentialHeaders(createServer(), { headers: {} }, seen)).toBe(seen);
  });
});
