import { describe, expect, it } from "vitest";
import { normalizeUri, normalPathOf } from "../../../src/capabilities/sender-constraint/target-uri.ts";

describe("normalizeUri (RFC 3986 section 6.2)", () => {
  it.each([
    ["https://api.example/agents", "https://api.example/agents"],
    ["HTTPS://API.Example/Agents", "https://api.example/Agents"],
    ["https://api.example", "https://api.example/"],
    ["https://api.example:443/a", "https://api.example/a"],
    ["http://api.example:80/a", "http://api.example/a"],
    ["https://api.example:/a", "https://api.example/a"],
    ["https://api.example:80/a", "https://api.example:80/a"],
    ["http://api.example:443/a", "http://api.example:443/a"],
    ["https://api.example:8443/a", "https://api.example:8443/a"],
    ["https://[::1]:8443/a", "https://[::1]:8443/a"],
    ["https://[::1]/a", "https://[::1]/a"],
    ["https://api.example/a/./b/../c", "https://api.example/a/c"],
    ["https://api.example/%61%2d%2f%c3%a9", "https://api.example/a-%2F%C3%A9"],
    ["https://api.example/%7e%5F%2E%30", "https://api.example/~_.0"],
    ["https://api.example/a?b=c", "https://api.example/a"],
    ["https://api.example/a#b", "https://api.example/a"],
    ["https://api.example?b=c", "https://api.example/"],
    ["https://api.example/a?b#c?d", "https://api.example/a"],
  ])("reads %s as %s", (text, normal) => {
    expect(normalizeUri(text)).toBe(normal);
  });

  it.each([
    "",
    "/agents",
    "api.example/agents",
    "ftp://api.example/a",
    "xhttps://api.example/a",
    "https:api.example/a",
    "https:///a",
    "https://user@api.example/a",
    "https://@api.example/a",
    "https://:443/a",
    "https://?/a",
    "https://api.example:0x1bb/a",
    "https://api.example:65979/a",
    "https://api.example:443:443/a",
    "https:\\\\api.example\\a",
    "https://api\u3002example/a",
    "https://api.exam\tple/a",
    "ht\ntps://api.example/a",
    "https://api.example/a\0",
    "\ufeffhttps://api.example/a",
    "https://api%2eexample/a",
    "https://api.example\\a",
    "https://api.example/a\\b",
    "https://api.example/a b",
    " https://api.example/a",
    "https://api.example/a\n",
    "https://api.example/é",
  ])("rejects %j, which parsers may read in different ways", (text) => {
    expect(normalizeUri(text)).toBeUndefined();
  });
});

describe("normalPathOf", () => {
  it.each([
    ["/agents", "/agents"],
    ["/a/./b?c=d", "/a/b"],
    ["/%61%2f", "/a%2F"],
    ["https://api.example/a?b", "/a"],
  ])("reads the target %s as %s", (target, path) => {
    expect(normalPathOf(target)).toBe(path);
  });

  it.each(["*", "", "agents"])("finds no path in the target %j", (target) => {
    expect(normalPathOf(target)).toBeUndefined();
  });
});
