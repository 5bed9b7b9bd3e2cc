import { describe, expect, it, vi } from "vitest";
import type { RefusalBodyFunction } from "scopegate";
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

  it("sends a type of 200 characters", () => {
    const contentType = `a/${"b".repeat(198)}`;
    expect(refusalWith(() => ({ ...good, contentType })).refusal.headers["Content-Type"]).toBe(contentType);
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
      () => ({ ...good, contentType: `a/${"b".repeat(199)}` }),
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

  it("becomes the content of a raw response", () => {
    const { refusal } = refusalWith(() => ({ contentType: "text/plain", body: "é" }));
    const rendered = Buffer.from(renderResponse(toRawResponse(refusal), "GET", "now")).toString();
    expect(rendered).toMatch(/\r\nContent-Type: text\/plain\r\n[^]*Content-Length: 2\r\n[^]*\r\n\r\né$/);
  });
});

it('refuses with unmappedRoutes: "not_found" only routes without a rule with 404, not operations', async () => {
  const scopeMappings = { "* /mcp": [], "MCP tools/list": [] };
  const server = createServer({ adminScope: "platform:admin", unmappedRoutes: "not_found", scopeMappings });
  const admin = `Bearer ${await issuer.token({ scopes: ["platform:admin"] })}`;
  const statuses: number[] = [];
  for (const [method, target, authorization] of [
    ["GET", "/elsewhere"],
    ["GET", "/elsewhere", admin],
    // 404 would end the session.
    ["MCP", "tools/call search"],
    ["GET", "/mcp"],
    ["GET", "/a//b"],
  ] as const) {
    const decision = await server.check({ method, target, authorization });
    if (!decision.allowed) statuses.push(server.refuse(decision).status);
  }
  expect(statuses).toEqual([404, 404, 403, 401, 400]);
  const { text, decision } = explain(server, { method: "GET", path: "/elsewhere", scopes: [] });
  expect([text, decision.allowed]).toEqual([expect.stringContaining("refused: route_unmapped"), false]);
  expect(audit(server, [{ method: "GET", pattern: "/elsewhere" }]).findings).toContainEqual(
    expect.objectContaining({ kind: "route_unmapped", severity: "error" }),
  );
});
