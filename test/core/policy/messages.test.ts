/** Every mistake in a table as its author sees it: the code, the place, what is wrong, and the fix. */
import { describe, expect, it } from "vitest";
import { createServer, issuer, issuesOf } from "../../support/resource-servers.ts";

const issuesIn = (options: object): readonly string[] =>
  issuesOf({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], ...options }).map(
    ({ code, path, message, hint }) => `${code} ${path.slice(1).join(" ")}: ${message} ${hint}`,
  );

const issuesOfKey = (key: string) => issuesIn({ scopeMappings: { [key]: [] } });

const FORM = "Write `METHOD /pattern`, such as `GET /agents/:agent_id`, or `* /pattern` for every method.";

describe("a mistake in a key of the table", () => {
  it.each(
    Object.entries({
      "": `isn't a route key. ${FORM}`,
      GET: `isn't a route key. ${FORM}`,
      MCP: `isn't a route key. ${FORM}`,
      "GET  /agents": `isn't a route key. ${FORM}`,
      " GET /agents": `isn't a route key. ${FORM}`,
      "GET /agents ": `isn't a route key. ${FORM}`,
      "GET\t/agents": `isn't a route key. ${FORM}`,
      "GET /a b": `isn't a route key. ${FORM}`,
      "/agents": "isn't a route key. Write `GET /agents`, or `* /agents` for every method.",
      "tools/call x": "isn't a route key. Write `MCP tools/call x`.",
      "get /a": "`get` isn't a method that Node.js receives. Write `GET`: methods are case-sensitive.",
      "Post /a": "`Post` isn't a method that Node.js receives. Write `POST`: methods are case-sensitive.",
      "GéT /a": "`GéT` isn't a method that Node.js receives. Did you mean `GET`?",
      "POTS /a": "`POTS` isn't a method that Node.js receives. Did you mean `POST`?",
      "delet /a": "`delet` isn't a method that Node.js receives. Did you mean `DELETE`?",
      "ALL /a": "`ALL` isn't a method that Node.js receives. Write `* /a`.",
      "any /a": "`any` isn't a method that Node.js receives. Write `* /a`.",
      "** /a": `\`**\` isn't a method that Node.js receives. ${FORM}`,
      "GET,POST /a": `\`GET,POST\` isn't a method that Node.js receives. ${FORM}`,
    }),
  )("reports it with its place and its fix: %j", (key, text) => {
    expect(issuesOfKey(key)).toEqual([`route_key_invalid ${key}: ${text}`]);
  });
});

const WHOLE_PATH = "Write the whole path, starting with `/` and including mount prefixes.";
const SYNTAX =
  "Write texts and `:parameters`, and at the end `{/*wildcard}` or `{/}`; escape other special characters with a backslash.";
const PARAMETER = "Write `:parameter` or, at the end, `/*wildcard`.";
const OWN_NAME = "Give every parameter its own name.";
const OWN_SEGMENT = "Let the wildcard be a whole segment: `/files{/*path}`.";
const ONE_WILDCARD = "Use only one: routers divide a path between two wildcards differently.";
const SEVERAL_ROUTES = "Write it as several routes.";

/** The hint for each invalid pattern, by what is wrong with it. */
const PATTERN_MISTAKES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "doesn't begin with a slash.": { agents: WHOLE_PATH, "{/a}": WHOLE_PATH },
  "doesn't start with a slash.": { "*": "Write `/{*path}` for every path." },
  "isn't a pattern of path-to-regexp.": {
    "/a?": SYNTAX,
    "/a/(b)": SYNTAX,
    "/:": SYNTAX,
    '/:"id': SYNTAX,
    "/:a:b": SYNTAX,
    "/a{/b": SYNTAX,
    "/a\\": SYNTAX,
    // What would be meant is refused, too.
    "agents/:id?": SYNTAX,
    "/files/a*": SYNTAX,
    "/agents/:id?/(b": SYNTAX,
    "/*": "Write `/{*path}`.",
    "/(.*)": "Write `/{*path}`.",
    "/a/*": "Write `/a{/*path}`.",
    "/a/**": "Write `/a{/*path}`.",
    "/a/:path*": "Write `/a{/*path}`.",
    "/a/(.*)": "Write `/a{/*path}`.",
    "/a/*/runs": "Write `/a/:path/runs`, or `/a/*path` for all paths below.",
    "/a/:id(\\d+)/runs": "Write `/a/:id/runs`.",
    "/a/:id((b|c)d)": "Write `/a/:id`.",
    "/a/[id]": "Write `/a/:id`.",
    "/a/{path+}": "Write `/a/*path`.",
    "/:id?": "Write a key for each path: `/:id` and `/`.",
    "/a/:id?": "Write a key for each path: `/a/:id` and `/a`.",
    "/:rev?/:revision?": "Write a key for each path: `/:rev/:revision` and `/:rev` and `/`.",
    "/a/:b?/c/:d?/:e?":
      "Write a key for each path: `/a/:b/c/:d/:e` and `/a/:b/c/:d` and `/a/:b/c` and `/a/c/:d/:e` and `/a/c/:d` and `/a/c`.",
  },
  "has alternatives in parentheses.": { "/(v1|v2|v3)/orgs/:org": "Write one key for each of them." },
  "writes a parameter in the syntax of another router.": {
    "/a/{id}": "Write `/a/:id`.",
    "/a/<id>": "Write `/a/:id`.",
    "/a/{id:int}": "Write `/a/:id`.",
    "/a/<int:id>": "Write `/a/:id`.",
    "/a/:id<int>/b": "Write `/a/:id/b`.",
    "/a/{id}.json": "Write `/a/:id.json`.",
    "/a/{path...}": "Write `/a{/*path}`.",
    "/a/<path:rest>": "Write `/a{/*rest}`.",
    "/a/v{version}/b": "Write `/a/:version/b`, which matches every text there.",
    "/a/{org}-{x}": "Write `/a/:org`, which matches every text there.",
    "/a{b}c": "Write `/:b`, which matches every text there.",
    "/a{/x{y}}": "Write a key for each path: `/a/:y` and `/a`.",
    "/a<b": PARAMETER,
    "/a{}b": PARAMETER,
    "/{a}{b}": PARAMETER,
  },
  "uses one parameter name twice.": { "/:id/:id": OWN_NAME, "/:id/x/*id": OWN_NAME, "/:id{/:id}": OWN_NAME },
  "has a wildcard that shares its segment.": { "/a*path": OWN_SEGMENT, "/a/*path.json": OWN_SEGMENT },
  "has two wildcards.": { "/*a/*b": ONE_WILDCARD, "/*head{/*tail}": ONE_WILDCARD },
  "has more than 64 combinations of optional groups.": {
    [`/a${"{/b}".repeat(7)}`]: SEVERAL_ROUTES,
    [`/a${"{/b".repeat(65)}${"}".repeat(65)}`]: SEVERAL_ROUTES,
  },
  "has a segment that isn't a text, a parameter, or a parameter with a text behind it.": {
    "/v:version": "Write `/:version`, which matches every text there.",
    "/:a.:b": "Write `/:a`, which matches every text there.",
    "/a-:x-b/c": "Write `/:x/c`, which matches every text there.",
    "/:id{.:extension}": "Write `/:id`, which matches every text there.",
  },
  "has a wildcard before its end.": {
    "/a/*rest/b/:c": "Write `/a/:rest/b/:c`, or `/a/*rest` for all paths below.",
    "/a/*rest{/b}":
      "Write a key for each path: `/a/:rest/b` and `/a/*rest`, or `/a/*rest` for all paths below.",
  },
  "has an optional part other than `{/*name}` or `{/}` at its end.": {
    "/a{/:id}": "Write a key for each path: `/a/:id` and `/a`.",
    "/{:id}": "Write a key for each path: `/:id` and `/`.",
    "/:id{.json}": "Write a key for each path: `/:id.json` and `/:id`.",
    "/a{/b}/c{/*rest}": "Write a key for each path: `/a/b/c{/*rest}` and `/a/c{/*rest}`.",
    "/docs/{*path}": "Write `/docs{/*path}`.",
  },
};

const UNREACHABLE =
  "Write a path without empty or dot segments, query, fragment, semicolon, backslash and encoded slashes.";

describe("a mistake in a pattern", () => {
  it.each(
    Object.entries(PATTERN_MISTAKES).flatMap(([mistake, hints]) =>
      Object.entries(hints).map(([pattern, hint]) => [pattern, mistake, hint] as const),
    ),
  )("reports it with its place and a fix that is accepted: `%s` %s", (pattern, mistake, hint) => {
    expect(issuesOfKey(`GET ${pattern}`)).toEqual([
      `route_pattern_invalid GET ${pattern}: \`${pattern}\` ${mistake} ${hint}`,
    ]);
    for (const [, way = ""] of hint.matchAll(/`(\/[^`]*)`/g))
      expect(() => createServer({ scopeMappings: { [`GET ${way}`]: [] } }), way).not.toThrow();
  });

  it.each([
    ["an empty segment", ["//", "//a", "/a//b", "/a//", "/:id//x", "/café//x"]],
    ["a dot segment", ["/.", "/..", "/./a", "/a/.", "/a/..", "/a/../b", "/%2e/a", "/%2E%2e", "/café/.."]],
    ["a semicolon", ["/a;b", "/:id;v=1", "/;"]],
    ["a fragment", ["/a#b", "/#", "/:id#x"]],
    ["a query", ["/a\\?b", "/a\\?x=:y"]],
    ["a backslash", ["/a\\\\b", "/\\\\"]],
    ["an encoded slash or backslash", ["/a%2Fb", "/a%2fb", "/a%5Cb"]],
    ["a control character", ["/a%00", "/a%0A", "/a%7f", "/a\u0000", "/a\u007f"]],
    ["a bad percent-encoding", ["/a%", "/a%zz", "/100%", "/%ff", "/%:hex"]],
  ])("reports paths that are refused in every request: %s", (_, patterns) => {
    for (const pattern of patterns)
      expect(issuesOfKey(`GET ${pattern}`)).toEqual([
        `route_unreachable GET ${pattern}: \`${pattern}\` is a path that is refused in every request. ${UNREACHABLE}`,
      ]);
  });

  it.each([
    ["/{*path}{/}", "//"],
    ["/a{/..}", "/a/.."],
    ["/a//b{/c}", "/a//b/c"],
    ["/a{/}{/}b", "/a//b"],
  ])("reports the path of %s that is refused in every request: %s", (pattern, path) => {
    expect(issuesOfKey(`GET ${pattern}`)).toEqual([
      `route_unreachable GET ${pattern}: \`${pattern}\` matches \`${path}\`, a path that is refused in every request. ${UNREACHABLE}`,
    ]);
  });

  it.each([
    ["/café", "/caf%C3%A9"],
    ["/😀", "/%F0%9F%98%80"],
  ])("shows how clients encode %s: %s", (pattern, encoded) => {
    expect(issuesOfKey(`GET ${pattern}`)).toEqual([
      `route_unreachable GET ${pattern}: \`${pattern}\` is a path that is refused in every request. Write it percent-encoded, as clients send it: \`${encoded}\`.`,
    ]);
  });

  it.each(["GET /a/:any", "MCP resources/read a://{any}"])("reports the name of `<any>`: %s", (key) => {
    expect(issuesOfKey(key)).toEqual([
      `route_pattern_invalid ${key}: has a parameter called \`any\`. Give it another name: in a scope, \`<any>\` stands for at least one id.`,
    ]);
  });
});

describe("a value that no rule can have", () => {
  const TOKEN = "Write [] for any valid token, or an array of scopes.";
  const NO_RULE = 'Remove the key to have no rule. Write "public" if the route needs no token.';
  const SCOPES =
    'Write an array of scopes, such as ["agents:read"], or "public" if the route needs no token.';
  const ACR = 'Write acr: { anyOf: ["..."] }, with the `acr` that your issuer sets after this login.';
  const MAX_AGE = "Write `maxAuthAgeSeconds`: the seconds since the login.";

  it.each<[unknown, string]>([
    [true, TOKEN],
    [null, NO_RULE],
    [false, NO_RULE],
    [undefined, NO_RULE],
    [5, SCOPES],
    ["Public", "Did you mean `public`?"],
    ["authenticated", TOKEN],
    ["admin", SCOPES],
    ["", SCOPES],
    ["agents:read", 'Write ["agents:read"].'],
    ["a:b, c:d", 'Write ["a:b", "c:d"].'],
    [["a:b", 5], "Write each scope as a string."],
    [Object.create({ scopes: [] }), "Write a plain object: { scopes: [...] }."],
    [{}, TOKEN],
    [{ scopes: "a:b c:d" }, 'Write { scopes: ["a:b", "c:d"] }.'],
    [{ anyOf: [5] }, 'Write { anyOf: ["agents:read"] }.'],
    [{ anyOf: [] }, `{ anyOf: [] } allows nobody. ${TOKEN}`],
    [
      { scopes: [], anyOf: ["a:b"] },
      "Keep one: { scopes } requires all of its scopes, { anyOf } at least one.",
    ],
    [{ where: {}, acr: {} }, "Write { scopes: [], acr, where }: [] is any valid token."],
    [
      { roles: ["x"] },
      "Write the scopes that these roles have. scopeSources: [{ claim, map }] turns roles into scopes.",
    ],
    [{ allOf: ["a:b"] }, "Write `scopes`: all of them are required."],
    [{ all_of: ["a:b"] }, "Write `scopes`: all of them are required."],
    [{ scopes: [], mfa: true }, ACR],
    [{ scopes: [], maxAge: 300 }, MAX_AGE],
    [{ maxAuthAge: 300, amr: ["mfa"], scopes: [] }, `${ACR} ${MAX_AGE}`],
    [{ scope: ["a:b"] }, "Did you mean `scopes`?"],
    [{ scopes: [], xyz: 1 }, "Remove `xyz`: rules have no such property."],
    [{ filtered: "a:b", where: {} }, 'Write ["a:<any>:b"] instead of { filtered }.'],
    [
      { override: [] },
      "Write the value without { override }: it replaces the base rule, whatever it requires.",
    ],
    [
      { report: [], scopes: [] },
      "Write what isn't enforced yet as a second table: shadow: shadowTable({ scopeMappings }).",
    ],
  ])("has its own hint: %j", (value, hint) => {
    const [issue = "", ...others] = issuesIn({ scopeMappings: { "GET /a": value } });
    expect(issue).toMatch(/^requirement_invalid GET \/a: /);
    expect(issue.endsWith(` ${hint}`)).toBe(true);
    expect(others).toEqual([]);
  });

  it("has the same message for each order of its properties", () => {
    const entries = Object.entries({ where: {}, roles: ["x"], mfa: true, scopes: [] });
    const [issues, reversed] = [entries, entries.toReversed()].map((properties) =>
      issuesIn({ scopeMappings: { "GET /a": Object.fromEntries(properties) } }),
    );
    expect(issues).toEqual(reversed);
  });
});

const FOR_LISTS = "`<any>` is for lists: GET paths that end with a text, and MCP.";
const SCOPE_SYNTAX =
  "Write `resource:action`, `resource:<parameter>:action` or another scope-token of RFC 6749 without empty parts.";

describe("a mistake in a scope", () => {
  it.each<[string, string]>([
    ["public", 'Write "public" without the array, for a route that needs no token.'],
    ["optional", 'Write "optional" without the array, for a route that reads a token if there is one.'],
    ["*", "Write [] for any valid token, or the scope that the route needs."],
  ])("reports a reserved word in an array: %j", (scope, hint) => {
    const text = `${JSON.stringify(scope)} isn't a scope. ${hint}`;
    expect(issuesIn({ scopeMappings: { "GET /a": [scope] } })).toEqual([`scope_invalid GET /a 0: ${text}`]);
    expect(issuesIn({ scopeMappings: { "GET /a": { anyOf: ["a:b", scope] } } })).toEqual([
      `scope_invalid GET /a anyOf 1: ${text}`,
    ]);
  });

  it.each<[string, string]>([
    ["", SCOPE_SYNTAX],
    ["a::b", SCOPE_SYNTAX],
    [":a", SCOPE_SYNTAX],
    ['a:"b"', SCOPE_SYNTAX],
    ["a:b ", SCOPE_SYNTAX],
    ["a b", 'Write a string for each scope: ["a", "b"].'],
    ["  a:b   c:d ", 'Write a string for each scope: ["a:b", "c:d"].'],
    ["a:b, c:d", 'Write a string for each scope: ["a:b", "c:d"].'],
    ["read,write", 'Write a string for each scope: ["read", "write"].'],
  ])("reports a scope that no token can have: %j", (scope, hint) => {
    expect(issuesIn({ scopeMappings: { "GET /a": { scopes: ["c:d", scope] } } })).toEqual([
      `scope_invalid GET /a scopes 1: ${JSON.stringify(scope)} is a scope that no token can have. ${hint}`,
    ]);
  });

  it.each([
    "<id>",
    "a:<id>",
    "<id>:a:b",
    "<any>:a:b",
    "<x>:<id>:b",
    "a:b:<id>",
    "a:<id>:b:c",
    "a.<id>.b",
    // Only a whole part.
    "a-<id>:b",
    "a:x<id>:b",
    "a:<id>x:b",
    "a:<<id>>:b",
    "a:<id:b",
    "a:id>:b",
    // As other tools write one.
    "a:{id}:b",
    "a:${id}:b",
  ])("reports a template whose parameter isn't the whole id: %s", (scope) => {
    expect(issuesIn({ scopeMappings: { "GET /a/:x/:id": [scope] } })).toEqual([
      `scope_invalid GET /a/:x/:id 0: \`${scope}\` misplaces or misspells a parameter. Write \`resource:<parameter>:action\`.`,
    ]);
  });

  it.each<[string, string, string]>([
    ["GET /a", "a:<id>:b", "The route has none."],
    ["GET /a/:id", "a:<>:b", "Write one of `<id>`."],
    ["GET /a/:id/:x", "a:<y>:b", "Write one of `<id>`, `<x>`."],
  ])("reports a parameter that %s doesn't have: %s", (key, scope, hint) => {
    expect(issuesIn({ scopeMappings: { [key]: [scope] } })).toEqual([
      `scope_invalid ${key} 0: \`${scope}\` names no parameter of its route. ${hint}`,
    ]);
  });

  it.each<[string, string, string]>([
    ["GET /a/:id", "a:<any>:b", "`a:<id>:b` or `a:b`"],
    ["GET /a/:id.json", "a:<any>:b", "`a:<id>:b` or `a:b`"],
    ["GET /a{/*path}", "a:<any>:b", "`a:b`"],
    ["POST /a", "a:<any>:b", "`a:b`"],
    ["* /a", "a:<any>:b", "`a:b`"],
    ["MCP tools/call *", "a:<any>:b", "`a:<parameter>:b` or `a:b`"],
    ["MCP resources/read a://all", "a:<any>:b", "`a:b`"],
    ["GET /x/:id/a", "a:*:b", "`a:<any>:b` or `a:b`"],
  ])("reports where a handler can't filter a list: %s with %s", (key, scope, ways) => {
    expect(issuesIn({ scopeMappings: { [key]: [scope] } })).toEqual([
      `scope_invalid ${key} 0: \`${scope}\` can't be required here. Write ${ways}. ${FOR_LISTS}`,
    ]);
  });

  it.each(["GET /a", "HEAD /", "GET /orgs/:org/a/", "MCP tools/list", "MCP tools/call list_agents"])(
    "accepts `<any>` where a handler can filter a list: %s",
    (key) => {
      expect(() => createServer({ scopeMappings: { [key]: ["a:<any>:b"] } })).not.toThrow();
    },
  );
});

const METHODS = (method: string) =>
  `Write \`MCP <method> <name>\`, such as \`MCP tools/call search\`, or \`*\` for every name. Declare a method that your server adds: mcp: { methods: { "${method}": null } }, in code mcpOperations({ methods }).`;
const FOR_EVERY_NAME = "Write `*` for every name, `docs_*` for names that begin with the same text";
const VARIABLE =
  "Write `{name}` for one segment of the URI, `{+name}` for the rest of it, or `*` alone for every resource.";
const BRACES =
  "Write `{name}` for one segment of the URI, or `{+name}` for the rest of it, with one name in each pair of braces.";

describe("a mistake in the key of an operation", () => {
  it.each(
    Object.entries({
      "/a": `\`/a\` isn't a method of MCP clients. ${METHODS("/a")}`,
      "x/y": `\`x/y\` isn't a method of MCP clients. ${METHODS("x/y")}`,
      "tool/call x": "`tool/call` isn't a method of MCP clients. Did you mean `tools/call`?",
      "tools.call x": "`tools.call` isn't a method of MCP clients. Write `MCP tools/call x`.",
      "tools/call:x": "`tools/call:x` isn't a method of MCP clients. Write `MCP tools/call x`.",
      "tools/call": "`tools/call` needs a name. Write `MCP tools/call *` for every name, or one name.",
      "tools/list x": "`tools/list` takes no name. Write `MCP tools/list`.",
      ping: "`ping` needs no rule of its own. Remove it: the transport's rule, such as `* /mcp`, decides it.",
      "resources/subscribe *":
        "`resources/subscribe` has no rule of its own. Remove it: the rule for `resources/read` with the same name decides it.",
      "completion/complete x":
        "`completion/complete` has no rule of its own. Remove it: the rule for `prompts/get` or `resources/read` with the same name decides it.",
      "tools/call :id": `":id" is a variable, but names are compared exactly. ${FOR_EVERY_NAME}, or write one key for each name.`,
      "tools/call a*b":
        '"a*b" has `*` before its end. Write `*` at the end, as in `docs_*`, or the whole name.',
      "tools/call  a": '" a" isn\'t a name. Write the name without spaces around it.',
      "resources/read a*": `"a*" has \`*\`, which isn't a variable of a URI template. ${VARIABLE}`,
      "resources/read a://:id": `"a://:id" has \`/:i\`, which isn't a variable of a URI template. ${VARIABLE}`,
      "resources/read a://<id>": `"a://<id>" has \`<\`, which isn't a variable of a URI template. ${VARIABLE}`,
      "resources/read a://{id": `has a brace without a matching brace. ${BRACES}`,
      "resources/read a://id}": `has a brace without a matching brace. ${BRACES}`,
      "resources/read a://{}": `has \`{}\`, which doesn't always have one value. ${BRACES}`,
      "resources/read a://{id:3}": `has \`{id:3}\`, which doesn't always have one value. ${BRACES}`,
      "resources/read a://{id}/{id}": "has the variable `id` twice. Give each variable its own name.",
      "resources/read a://{b,c}": "has `{b,c}`, but servers match only its first name. Write {b},{c}.",
      "resources/read a://{/b,c}": "has `{/b,c}`, but servers match only its first name. Write {/b},{/c}.",
      "resources/read HTTP://A.test":
        "`HTTP://A.test` isn't spelled as a URL is. Write `MCP resources/read http://a.test/`.",
      "resources/read {id}":
        "`{id}` matches no URI, because it isn't spelled as a URL is. Write a scheme and the rest of the URI: `docs://{name}`, `file:///{+path}`.",
      "resources/read HTTP://A.test/{id}":
        "`HTTP://A.test/{id}` matches no URI, because it isn't spelled as a URL is. Write `http://a.test/{id}`.",
    }),
  )("reports it with its place and its fix: MCP %s", (operation, text) => {
    expect(issuesOfKey(`MCP ${operation}`)).toEqual([`route_key_invalid MCP ${operation}: ${text}`]);
  });
});

describe("a mistake in two rules", () => {
  const GROUP = "also stands for its path without the group in braces, and a trailing slash doesn't make";

  it.each<[object, string]>([
    [
      { "GET /a/:x": [], "GET /A/:y/": [] },
      "route_duplicate GET /A/:y/: is the same route as `GET /a/:x`. Keep one of the two: parameter names, letter case and a trailing slash don't make another route.",
    ],
    [
      { "GET /a": [], "GET /a{/*b}": ["a:b"] },
      `route_duplicate GET /a: is for the same route as \`GET /a{/*b}\`: \`GET /a{/*b}\` ${GROUP} another route. Keep one of the two, or write the route without the braces.`,
    ],
    [
      { "GET /agents/y": [], "GET /Agents/x": [] },
      "route_ambiguous GET /Agents/x: spells `Agents`, which another rule spells `agents` at the same place. Write `agents` here, or change the other rule: many routers read both as one path.",
    ],
    [
      { "GET /:id.json/x": [], "GET /:name.JSON/y": [] },
      "route_ambiguous GET /:id.json/x: spells `.json`, which another rule spells `.JSON` at the same place. Write `.JSON` here, or change the other rule: many routers read both as one path.",
    ],
    [
      { "GET /a": ["a:b"], "HEAD /a": [] },
      "rule_outranked HEAD /a: doesn't require what `GET /a` requires (a:b), and frameworks run the GET handler for HEAD. Remove the rule: HEAD uses the rule for GET. If that rule is for a wider path, write one for GET of this path.",
    ],
    [
      { "DELETE /{*path}": ["platform:delete"], "* /agents/:id": ["agents:<id>:write"] },
      "rule_outranked DELETE /{*path}: doesn't decide `DELETE /agents/:id`. `* /agents/:id` (agents:<id>:write) would decide, because its path is narrower. But its method is wider, and a caller that it allows may not satisfy this rule. Add `DELETE /agents/:id` with what these requests require.",
    ],
    [
      { "GET /:area/secrets": ["secrets:read"], "GET /docs/*path": "public" },
      "rules_cross GET /:area/secrets: also matches `GET /docs/secrets`. `GET /docs/*path` (nothing) would decide, although neither path contains the other, and a caller that it allows may not satisfy this rule. Add `GET /docs/secrets` with what these requests require.",
    ],
  ])("reports it with its place and its fix: %j", (scopeMappings, issue) => {
    expect(issuesIn({ scopeMappings })).toEqual([issue]);
  });
});

describe("a custom rule that does not replace what its author may think", () => {
  it.each<[object, object, string]>([
    [
      { "* /x": ["a:b"] },
      { "POST /x": ["c:d"], "GET /x": ["a:b"] },
      "override_partial * /x: doesn't replace `GET /x`, `POST /x` of the base table: for the same path, the rule for an exact method decides. Write what these methods require, such as `GET /x`, or pass a base table without them as defaultScopeMappings.",
    ],
    [
      { "GET /x/:id": { scopes: ["a:b"], clients: ["app", "cli"] } },
      {
        "GET /x/:id": {
          scopes: ["a:b"],
          clients: ["app"],
          where: { id: { claim: "org" } },
          maxAuthAgeSeconds: 60,
        },
      },
      "condition_conflict GET /x/:id: loses or widens a condition of the base table's rule that it replaces, `GET /x/:id` (a:b; id is the claim org; the client is app; the user has logged in within 60 s). Repeat the condition.",
    ],
  ])("reports it with its place and its fix: %j next to %j", (scopeMappings, defaultScopeMappings, issue) => {
    expect(issuesIn({ scopeMappings, defaultScopeMappings })).toEqual([issue]);
  });
});

const PRINTABLE =
  "Write a scope as printable ASCII without spaces, quotation marks and backslashes (RFC 6749 section 3.3).";
const NOT_EMPTY = "Write a scope without empty parts, such as `platform:admin`.";

describe("a mistake in the hierarchy of scopes", () => {
  it.each<[object, string]>([
    [{ "a b": ["c:d"] }, `scope_invalid a b: "a b" isn't a scope. ${PRINTABLE}`],
    [{ "a:b": ["é"] }, `scope_invalid a:b: "é" isn't a scope. ${PRINTABLE}`],
    [{ "a::b": [] }, `scope_invalid a::b: "a::b" has an empty part: no token can have it. ${NOT_EMPTY}`],
    [{ "a:b": [":a"] }, `scope_invalid a:b: ":a" has an empty part: no token can have it. ${NOT_EMPTY}`],
    [{ "a:b": ["c:d,e:f"] }, 'scope_invalid a:b: "c:d,e:f" has a comma. Write a string for each scope.'],
    [{ "a:b": ["a:b"] }, "implied_scopes_cycle a:b: `a:b` implies itself. Remove one link of the cycle."],
    [
      { "a:*": ["b:c"] },
      'scope_invalid a:*: "a:*" isn\'t a wildcard: `*` stands for every id, and for nothing else. Write one scope for each action, such as `agents:read` or `agents:*:read`.',
    ],
    [
      { "a:*:b": ["a:*:c"] },
      'scope_invalid a:*:b: "a:*:b" is a hierarchy for ids. Write `a:b`: a hierarchy for a resource also applies to each of its ids.',
    ],
  ])("reports it with its place and its fix: %j", (impliedScopes, issue) => {
    expect(issuesIn({ scopeMappings: {}, impliedScopes })).toEqual([issue]);
  });
});

describe("the mistakes of a table", () => {
  it("reports all of them, each with its place, those of the base table first", () => {
    const scopeMappings = {
      "get /a": [],
      "GET /c//d": [],
      "GET /e": ["f::g", "a:b", "h i"],
      "GET /:a/x": ["a:b"],
      "GET /y/:b": [],
    };
    const options = { adminScope: "a b", defaultScopeMappings: { "GTE /l": [] }, scopeMappings };
    expect(
      issuesOf({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], ...options }).map(
        ({ code, path }) => `${code} ${path.join(" ")}`,
      ),
    ).toEqual([
      "scope_invalid adminScope",
      "route_key_invalid defaultScopeMappings GTE /l",
      "route_key_invalid scopeMappings get /a",
      "route_unreachable scopeMappings GET /c//d",
      "scope_invalid scopeMappings GET /e 0",
      "scope_invalid scopeMappings GET /e 2",
      "rules_cross scopeMappings GET /:a/x",
    ]);
  });
});
