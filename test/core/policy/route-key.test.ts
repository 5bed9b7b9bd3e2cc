import { readFileSync } from "node:fs";
import { METHODS } from "node:http";
import { describe, expect, it } from "vitest";
import { parseRouteKey } from "../../../src/core/policy/route-key.ts";

function mistakeIn(key: string) {
  const mistake = parseRouteKey(key);
  if (!("code" in mistake)) throw new Error(`${key} is a valid key.`);
  return mistake;
}

describe("a route key", () => {
  it.each([
    ["GET /agents", "GET", "/agents"],
    ["* /agents", "*", "/agents"],
    ["OPTIONS /*path", "OPTIONS", "/*path"],
    ["M-SEARCH /x", "M-SEARCH", "/x"],
    ["HEAD /", "HEAD", "/"],
  ])("parses %s as a method and a pattern", (key, method, source) => {
    expect(parseRouteKey(key)).toMatchObject({ method, pattern: { source } });
  });

  it("accepts every method that Node.js receives", () => {
    expect(METHODS.filter((method) => "code" in parseRouteKey(`${method} /agents`))).toEqual([]);
  });

  it("accepts in its type every method that Node.js receives", () => {
    const source = readFileSync("src/core/policy/scope-mappings.ts", "utf8");
    expect(METHODS.filter((method) => !source.includes(`"${method}"`))).toEqual([]);
  });

  it.each(["", "GET", "GET  /agents", " GET /agents", "GET /agents ", "GET\t/agents", "GET /a b"])(
    "refuses %j, which is not one method, one space and one pattern",
    (key) => {
      const { code, message, hint } = mistakeIn(key);
      expect(code).toBe("route_key_invalid");
      expect(message).toBe("isn't a route key.");
      expect(hint).toContain("`METHOD /pattern`");
      expect(hint).toContain("`GET /agents/:agent_id`");
    },
  );

  it("adds a method to a path alone", () => {
    expect(mistakeIn("/agents").hint).toBe("Write `GET /agents`, or `* /agents` for every method.");
  });

  it.each([
    ["get /agents", "`GET`"],
    ["Get /agents", "`GET`"],
    ["post /agents", "`POST`"],
    ["GTE /agents", "`GET`"],
    ["POTS /agents", "`POST`"],
    ["DELET /agents", "`DELETE`"],
    ["delet /agents", "`DELETE`"],
    ["PACTH /agents", "`PATCH`"],
    ["OPTION /agents", "`OPTIONS`"],
    ["ANYTHING_AT_ALL /agents", "`* /pattern` for every method"],
    ["GET,POST /agents", "`METHOD /pattern`"],
    ["** /agents", "`* /pattern`"],
    ["ALL /agents", "`* /agents`"],
    ["any /agents", "`* /agents`"],
  ])("refuses the method of %s, and the hint shows what to write: %s", (key, way) => {
    const { code, hint } = mistakeIn(key);
    expect(code).toBe("route_key_invalid");
    expect(hint).toContain(way);
  });

  it.each([
    ["GET agents", "route_pattern_invalid", "starting with `/`"],
    ["GET *", "route_pattern_invalid", "Write `/{*path}` for every path"],
    ["GET /agents//runs", "route_unreachable", "without empty or dot segments"],
    ["GET /café", "route_unreachable", "`/caf%C3%A9`"],
    ["GET http://service.example/agents", "route_pattern_invalid", "`"],
  ])("refuses %s (%s): %s", (key, code, way) => {
    const issue = mistakeIn(key);
    expect(issue.code).toBe(code);
    expect(issue.hint).toContain(way);
  });

  it("appears in the message with the mistake", () => {
    expect(mistakeIn("GET /files/*").message).toBe("`/files/*` isn't a pattern of path-to-regexp.");
    expect(mistakeIn("get /agents").message).toBe("`get` isn't a method that Node.js receives.");
    expect(mistakeIn("get /agents").hint).toBe("Write `GET`: methods are case-sensitive.");
  });
});
