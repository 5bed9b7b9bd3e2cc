import { describe, expect, it, vi } from "vitest";
import type { Refusal, RefusalBodyFunction } from "scopegate";
import { audit } from "scopegate/audit";
import { explain } from "scopegate/explain";
import { refuse, type Refused } from "../../../src/core/policy/decision.ts";
import { renderResponse, toRawResponse } from "../../../src/core/response/raw-response.ts";
import { createRefuser } from "../../../src/core/response/refusal.ts";
import { createServer, issuer } from "../../support/resource-servers.ts";

const RULES = { realm: "agents", resourceMetadataUrl: undefined };
const UNAUTHENTICATED = refuse("credential_missing");
const good = { contentType: "application/json", body: "{}" };

/** The refusal with the result of this function, and the warnings. */
function refusalWith(refusalBody: unknown, refused: Refused = UNAUTHENTICATED) {
  const warnings: string[] = [];
  const create = refusalBody as RefusalBodyFunction;
  const refuser = createRefuser({ ...RULES, refusalBody: create }, (message) => warnings.push(message));
  return { refusal: refuser(refused), standard: createRefuser(RULES)(refused), warnings };
}

describe("refusalBody", () => {
  it("replaces the body and its type, and nothing else", () => {
    const refused = refuse("keys_unavailable", [], { retryAfterSeconds: 7, cause: new Error("away") });
    for (const one of [refused, UNAUTHENTICATED]) {
      const { refusal, standard, warnings } = refusalWith(
        () => ({ contentType: "text/plain; charset=utf-8", body: "No." }),
        one,
      );
      expect(warnings).toEqual([]);
      expect(refusal).toEqual({
        ...standard,
        headers: { ...standard.headers, "Content-Type": "text/plain; charset=utf-8" },
        body: "No.",
      });
    }
  });

  it("receives the problem, which it cannot change, and the decision", () => {
    const create = vi.fn((problem: object) => {
      expect(Object.isFrozen(problem)).toBe(true);
      return good;
    });
    const refused = { ...refuse("scope_insufficient"), required: ["a:b"], missing: ["a:b"] };
    const { refusal } = refusalWith(create, refused);
    expect(create).toHaveBeenCalledExactlyOnceWith(refusal.problem, refused);
    expect(refusal.problem).toMatchObject({ code: "scope_insufficient", missing_scopes: ["a:b"] });
  });

  it.each<readonly [string, unknown, string]>([
    ["an object as JSON", { error: { code: "a" } }, '{"error":{"code":"a"}}'],
    ["an array as JSON", [1], "[1]"],
    ["an empty string", "", ""],
  ])("sends %s", (_, body, content) => {
    expect(refusalWith(() => ({ contentType: "application/json", body })).refusal.body).toBe(content);
  });

  const cyclic: { self?: object } = {};
  cyclic.self = cyclic;
  it.each<readonly [string, () => unknown, string]>([
    ["throws", () => JSON.parse("{") as unknown, "threw"],
    ["returns nothing", () => undefined, "didn't return an object"],
    ["returns a string", () => "No.", "didn't return an object"],
    ["returns a promise", () => Promise.resolve(good), "returned a promise"],
    ["returns a promise that rejects", () => Promise.reject(new Error("canary")), "returned a promise"],
    ["returns no type", () => ({ body: "" }), "media type"],
    ["returns a type that is not a string", () => ({ ...good, contentType: ["text/html"] }), "media type"],
    ["returns a type without a slash", () => ({ ...good, contentType: "json" }), "media type"],
    ["returns a type with a line break", () => ({ ...good, contentType: "a/b\r\nX: y" }), "media type"],
    ["returns a type with a final line break", () => ({ ...good, contentType: "a/b\n" }), "media type"],
    ["returns a type beyond ASCII", () => ({ ...good, contentType: "a/b; x=é" }), "media type"],
    [
      "returns a type that is too long",
      () => ({ ...good, contentType: `a/${"b".repeat(200)}` }),
      "media type",
    ],
    ["returns no body", () => ({ contentType: "a/b" }), "as `body`"],
    ["returns a number as the body", () => ({ ...good, body: 5 }), "as `body`"],
    [
      "returns a promise as the body",
      () => ({ ...good, body: Promise.reject(new Error("canary")) }),
      "as `body`",
    ],
    ["returns a body that is no JSON", () => ({ ...good, body: { toJSON: () => undefined } }), "as `body`"],
    ["returns a cyclic body", () => ({ ...good, body: cyclic }), "threw"],
    ["returns a body with a bigint", () => ({ ...good, body: { a: 1n } }), "threw"],
  ])("leaves the standard body if it %s", (_, create, mistake) => {
    const { refusal, standard, warnings } = refusalWith(create);
    expect(refusal).toEqual(standard);
    const silent = createRefuser({ ...RULES, refusalBody: create as RefusalBodyFunction });
    expect(silent(UNAUTHENTICATED)).toEqual(standard);
    expect(warnings).toEqual([expect.stringContaining(mistake)]);
    expect(warnings.join("")).not.toContain("canary");
  });

  it("warns once for each server", () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    const servers = [1, 2].map(() => createServer({ refusalBody: () => undefined as never }));
    for (const server of [...servers, ...servers]) server.refuse(UNAUTHENTICATED);
    expect(warn).toHaveBeenCalledTimes(2);
    warn.mockRestore();
  });

  it("becomes the content of a raw response, which is empty for HEAD", () => {
    const refusal: Refusal = createServer({
      refusalBody: () => ({ contentType: "text/plain", body: "é" }),
    }).refuse(UNAUTHENTICATED);
    const render = (method: string) =>
      Buffer.from(renderResponse(toRawResponse(refusal), method, "now")).toString();
    expect(render("GET")).toMatch(
      /^HTTP\/1\.1 401 Unauthorized\r\nContent-Type: text\/plain\r\n[^]*Content-Length: 2\r\n[^]*\r\n\r\né$/,
    );
    expect(render("HEAD")).toMatch(/\r\n\r\n$/);
  });
});

describe('unmappedRoutes: "not_found"', () => {
  const scopeMappings = { "* /mcp": [], "MCP tools/list": [] };
  const server = createServer({ adminScope: "platform:admin", unmappedRoutes: "not_found", scopeMappings });
  const refusalOf = async (method: string, target: string, authorization?: string) => {
    const decision = await server.check({ method, target, authorization });
    if (decision.allowed) throw new Error("The request was allowed.");
    return { decision, refusal: server.refuse(decision) };
  };

  it("refuses a route without a rule with 404, with and without a token", async () => {
    for (const authorization of [undefined, `Bearer ${await issuer.token({ scopes: ["platform:admin"] })}`]) {
      const { decision, refusal } = await refusalOf("GET", "/elsewhere", authorization);
      expect(decision.reason).toBe("route_unmapped");
      expect(refusal.headers).not.toHaveProperty("WWW-Authenticate");
      expect(refusal).toMatchObject({
        status: 404,
        body: {
          type: "about:blank",
          title: "Not Found",
          status: 404,
          detail: "There is no such operation.",
          code: "route_unmapped",
        },
      });
    }
  });

  it("refuses an MCP operation without a rule with 403, because 404 ends the session", async () => {
    const { decision, refusal } = await refusalOf("MCP", "tools/call search");
    expect(decision).toMatchObject({ reason: "route_unmapped", isOperation: true });
    expect(refusal).toMatchObject({ status: 403, body: { title: "Forbidden" } });
    expect((await refusalOf("GET", "/elsewhere")).refusal.status).toBe(404);
  });

  it("leaves every other refusal and the explanation as they are", async () => {
    expect((await refusalOf("GET", "/mcp")).refusal.status).toBe(401);
    expect((await refusalOf("GET", "/a//b")).refusal.status).toBe(400);
    const { text, decision } = explain(server, { method: "GET", path: "/elsewhere", scopes: [] });
    expect(text).toContain("refused: route_unmapped");
    expect(decision.allowed).toBe(false);
    expect(audit(server, [{ method: "GET", pattern: "/elsewhere" }]).findings).toContainEqual(
      expect.objectContaining({ kind: "route_unmapped", severity: "error" }),
    );
  });
});
