/** Every mistake in a table as its author sees it: the code, the place, what is wrong, and the fix. */
import { describe, expect, it } from "vitest";
import { issuer, issuesOf } from "../../support/resource-servers.ts";

const issuesIn = (options: object): readonly string[] =>
  issuesOf({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], ...options }).map(
    ({ code, path, message, hint }) => `${code} ${path.slice(1).join(" ")}: ${message} ${hint}`,
  );

const ANY_HINT = "`<any>` is for lists: GET paths that end with a text, and MCP.";

describe("a mistake in a key of the table", () => {
  it.each<[object, string]>([
    [
      { "/agents": [] },
      "route_key_invalid /agents: isn't a route key. Write `GET /agents`, or `* /agents` for every method.",
    ],
    [
      { "get /agents": [] },
      "route_key_invalid get /agents: `get` isn't a method that Node.js receives. Write `GET`: methods are case-sensitive.",
    ],
    [
      { "GET agents": [] },
      "route_pattern_invalid GET agents: `agents` doesn't begin with a slash. Write the whole path, starting with `/` and including mount prefixes.",
    ],
    [
      { "GET /a b": [] },
      "route_key_invalid GET /a b: isn't a route key. Write `METHOD /pattern`, such as `GET /agents/:agent_id`, or `* /pattern` for every method.",
    ],
    [
      { "GéT /a": [] },
      "route_key_invalid GéT /a: `GéT` isn't a method that Node.js receives. Did you mean `GET`?",
    ],
    [{ "tools/call x": [] }, "route_key_invalid tools/call x: isn't a route key. Write `MCP tools/call x`."],
    [
      { MCP: [] },
      "route_key_invalid MCP: isn't a route key. Write `METHOD /pattern`, such as `GET /agents/:agent_id`, or `* /pattern` for every method.",
    ],
  ])("reports it with its place and its fix: %j", (scopeMappings, issue) => {
    expect(issuesIn({ scopeMappings })).toEqual([issue]);
  });
});

describe("a mistake in a pattern", () => {
  it.each<[object, string]>([
    [
      { "GET /a/:x/:x": [] },
      "route_pattern_invalid GET /a/:x/:x: `/a/:x/:x` uses one parameter name twice. Give every parameter its own name.",
    ],
    [
      { "GET /a/(b)": [] },
      "route_pattern_invalid GET /a/(b): `/a/(b)` isn't a pattern of path-to-regexp. Write texts and `:parameters`, and at the end `{/*wildcard}` or `{/}`; escape other special characters with a backslash.",
    ],
    [
      { "GET /a/:id(\\d+)": [] },
      "route_pattern_invalid GET /a/:id(\\d+): `/a/:id(\\d+)` isn't a pattern of path-to-regexp. Write `/a/:id`.",
    ],
    [
      { "GET /a/:id?": [] },
      "route_pattern_invalid GET /a/:id?: `/a/:id?` isn't a pattern of path-to-regexp. Write a key for each path: `/a/:id` and `/a`.",
    ],
    [
      { "GET /:rev?/:revision?": [] },
      "route_pattern_invalid GET /:rev?/:revision?: `/:rev?/:revision?` isn't a pattern of path-to-regexp. Write a key for each path: `/:rev/:revision` and `/:rev` and `/`.",
    ],
    [
      { "GET /a/:b?/c/:d?/:e?": [] },
      "route_pattern_invalid GET /a/:b?/c/:d?/:e?: `/a/:b?/c/:d?/:e?` isn't a pattern of path-to-regexp. Write a key for each path: `/a/:b/c/:d/:e` and `/a/:b/c/:d` and `/a/:b/c` and `/a/c/:d/:e` and `/a/c/:d` and `/a/c`.",
    ],
    [
      { "GET /a/*": [] },
      "route_pattern_invalid GET /a/*: `/a/*` isn't a pattern of path-to-regexp. Write `/a{/*path}`.",
    ],
    [
      { "GET /a/{id}": [] },
      "route_pattern_invalid GET /a/{id}: `/a/{id}` writes a parameter in the syntax of another router. Write `/a/:id`.",
    ],
    [
      { "GET /a/<id>": [] },
      "route_pattern_invalid GET /a/<id>: `/a/<id>` writes a parameter in the syntax of another router. Write `/a/:id`.",
    ],
    [
      { "GET /*x/*y": [] },
      "route_pattern_invalid GET /*x/*y: `/*x/*y` has two wildcards. Use only one: routers divide a path between two wildcards differently.",
    ],
    [
      { "GET /files*path": [] },
      "route_pattern_invalid GET /files*path: `/files*path` has a wildcard that shares its segment. Let the wildcard be a whole segment: `/files{/*path}`.",
    ],
    [
      { "GET /a//b": [] },
      "route_unreachable GET /a//b: `/a//b` is a path that is refused in every request. Write a path without empty or dot segments, query, fragment, semicolon, backslash and encoded slashes.",
    ],
    [
      { "GET /{*path}{/}": [] },
      "route_unreachable GET /{*path}{/}: `/{*path}{/}` matches `//`, a path that is refused in every request. Write a path without empty or dot segments, query, fragment, semicolon, backslash and encoded slashes.",
    ],
    [
      { "GET /a{/..}": [] },
      "route_unreachable GET /a{/..}: `/a{/..}` matches `/a/..`, a path that is refused in every request. Write a path without empty or dot segments, query, fragment, semicolon, backslash and encoded slashes.",
    ],
    [
      { "GET /a//b{/c}": [] },
      "route_unreachable GET /a//b{/c}: `/a//b{/c}` matches `/a//b/c`, a path that is refused in every request. Write a path without empty or dot segments, query, fragment, semicolon, backslash and encoded slashes.",
    ],
    [
      { "GET /é": [] },
      "route_unreachable GET /é: `/é` is a path that is refused in every request. Write it percent-encoded, as clients send it: `/%C3%A9`.",
    ],
    [
      { "GET /{/a}{/b}{/c}{/d}{/e}{/f}{/g}{/h}": [] },
      "route_pattern_invalid GET /{/a}{/b}{/c}{/d}{/e}{/f}{/g}{/h}: `/{/a}{/b}{/c}{/d}{/e}{/f}{/g}{/h}` has more than 64 combinations of optional groups. Write it as several routes.",
    ],
  ])("reports it with its place and its fix: %j", (scopeMappings, issue) => {
    expect(issuesIn({ scopeMappings })).toEqual([issue]);
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
    const options = { serviceId: "agents-prod", verificationKeys: [issuer.publicPem] };
    expect(issuesOf({ ...options, scopeMappings: { "GET /a": value } })).toMatchObject([
      { code: "requirement_invalid", path: ["scopeMappings", "GET /a"], hint },
    ]);
  });

  it("has the same message for each order of its properties", () => {
    const entries = Object.entries({ where: {}, roles: ["x"], mfa: true, scopes: [] });
    const [issues, reversed] = [entries, entries.toReversed()].map((properties) =>
      issuesIn({ scopeMappings: { "GET /a": Object.fromEntries(properties) } }),
    );
    expect(issues).toEqual(reversed);
  });
});

describe("a mistake in a scope", () => {
  it.each<[object, string]>([
    [
      { "GET /a": ["a:b, c:d"] },
      'scope_invalid GET /a 0: "a:b, c:d" is a scope that no token can have. Write a string for each scope: ["a:b", "c:d"].',
    ],
    [
      { "GET /a": ["read,write"] },
      'scope_invalid GET /a 0: "read,write" is a scope that no token can have. Write a string for each scope: ["read", "write"].',
    ],
    [
      { "GET /a/:id": ["a.<id>.b"] },
      "scope_invalid GET /a/:id 0: `a.<id>.b` misplaces or misspells a parameter. Write `resource:<parameter>:action`.",
    ],
    [
      { "GET /a/:id": ["a-<id>:b"] },
      "scope_invalid GET /a/:id 0: `a-<id>:b` misplaces or misspells a parameter. Write `resource:<parameter>:action`.",
    ],
    [
      { "GET /a": ["public"] },
      'scope_invalid GET /a 0: "public" isn\'t a scope. Write "public" without the array, for a route that needs no token.',
    ],
    [
      { "GET /a": ["optional"] },
      'scope_invalid GET /a 0: "optional" isn\'t a scope. Write "optional" without the array, for a route that reads a token if there is one.',
    ],
    [
      { "GET /a": ["*"] },
      'scope_invalid GET /a 0: "*" isn\'t a scope. Write [] for any valid token, or the scope that the route needs.',
    ],
    [
      { "GET /a": ["a:<id>:b"] },
      "scope_invalid GET /a 0: `a:<id>:b` names no parameter of its route. The route has none.",
    ],
    [
      { "GET /a/:id/:x": ["a:<y>:b"] },
      "scope_invalid GET /a/:id/:x 0: `a:<y>:b` names no parameter of its route. Write one of `<id>`, `<x>`.",
    ],
    [
      { "GET /a/:id": ["<id>:a:b"] },
      "scope_invalid GET /a/:id 0: `<id>:a:b` misplaces or misspells a parameter. Write `resource:<parameter>:action`.",
    ],
    [
      { "GET /a/:id": ["a:<id>"] },
      "scope_invalid GET /a/:id 0: `a:<id>` misplaces or misspells a parameter. Write `resource:<parameter>:action`.",
    ],
    [
      { "GET /a": ["a b"] },
      'scope_invalid GET /a 0: "a b" is a scope that no token can have. Write a string for each scope: ["a", "b"].',
    ],
    [
      { "GET /a/search/:anything": ["a:<any>:b"] },
      `scope_invalid GET /a/search/:anything 0: \`a:<any>:b\` can't be required here. Write \`a:<anything>:b\` or \`a:b\`. ${ANY_HINT}`,
    ],
    [
      { "POST /a": ["a:<any>:b"] },
      `scope_invalid POST /a 0: \`a:<any>:b\` can't be required here. Write \`a:b\`. ${ANY_HINT}`,
    ],
    [
      { "MCP tools/call *": ["a:<any>:b"] },
      `scope_invalid MCP tools/call * 0: \`a:<any>:b\` can't be required here. Write \`a:<parameter>:b\` or \`a:b\`. ${ANY_HINT}`,
    ],
    [
      { "GET /a": ["<any>:a:b"] },
      "scope_invalid GET /a 0: `<any>:a:b` misplaces or misspells a parameter. Write `resource:<parameter>:action`.",
    ],
    [
      { "GET /x/:id/a": ["a:*:b"] },
      `scope_invalid GET /x/:id/a 0: \`a:*:b\` can't be required here. Write \`a:<any>:b\` or \`a:b\`. ${ANY_HINT}`,
    ],
    [
      { "GET /a/:any": [] },
      "route_pattern_invalid GET /a/:any: has a parameter called `any`. Give it another name: in a scope, `<any>` stands for at least one id.",
    ],
    [
      { "MCP resources/read a://{any}": [] },
      "route_pattern_invalid MCP resources/read a://{any}: has a parameter called `any`. Give it another name: in a scope, `<any>` stands for at least one id.",
    ],
  ])("reports it with its place and its fix: %j", (scopeMappings, issue) => {
    expect(issuesIn({ scopeMappings })).toEqual([issue]);
  });
});

describe("a mistake in the key of an operation", () => {
  it.each<[object, string]>([
    [
      { "MCP /a": [] },
      'route_key_invalid MCP /a: `/a` isn\'t a method of MCP clients. Write `MCP <method> <name>`, such as `MCP tools/call search`, or `*` for every name. Declare a method that your server adds: mcp: { methods: { "/a": null } }, in code mcpOperations({ methods }).',
    ],
    [
      { "MCP tools/call": [] },
      "route_key_invalid MCP tools/call: `tools/call` needs a name. Write `MCP tools/call *` for every name, or one name.",
    ],
    [
      { "MCP tools/list x": [] },
      "route_key_invalid MCP tools/list x: `tools/list` takes no name. Write `MCP tools/list`.",
    ],
    [
      { "MCP tool/call x": [] },
      "route_key_invalid MCP tool/call x: `tool/call` isn't a method of MCP clients. Did you mean `tools/call`?",
    ],
    [
      { "MCP tools.call x": [] },
      "route_key_invalid MCP tools.call x: `tools.call` isn't a method of MCP clients. Write `MCP tools/call x`.",
    ],
    [
      { "MCP tools/call:x": [] },
      "route_key_invalid MCP tools/call:x: `tools/call:x` isn't a method of MCP clients. Write `MCP tools/call x`.",
    ],
    [
      { "MCP ping": [] },
      "route_key_invalid MCP ping: `ping` needs no rule of its own. Remove it: the transport's rule, such as `* /mcp`, decides it.",
    ],
    [
      { "MCP resources/subscribe *": [] },
      "route_key_invalid MCP resources/subscribe *: `resources/subscribe` has no rule of its own. Remove it: the rule for `resources/read` with the same name decides it.",
    ],
    [
      { "MCP completion/complete x": [] },
      "route_key_invalid MCP completion/complete x: `completion/complete` has no rule of its own. Remove it: the rule for `prompts/get` or `resources/read` with the same name decides it.",
    ],
    [
      { "MCP x/y": [] },
      'route_key_invalid MCP x/y: `x/y` isn\'t a method of MCP clients. Write `MCP <method> <name>`, such as `MCP tools/call search`, or `*` for every name. Declare a method that your server adds: mcp: { methods: { "x/y": null } }, in code mcpOperations({ methods }).',
    ],
    [
      { "MCP tools/call :id": [] },
      'route_key_invalid MCP tools/call :id: ":id" is a variable, but names are compared exactly. Write `*` for every name, `docs_*` for names that begin with the same text, or write one key for each name.',
    ],
    [
      { "MCP tools/call a*b": [] },
      'route_key_invalid MCP tools/call a*b: "a*b" has `*` before its end. Write `*` at the end, as in `docs_*`, or the whole name.',
    ],
    [
      { "MCP tools/call  a": [] },
      'route_key_invalid MCP tools/call  a: " a" isn\'t a name. Write the name without spaces around it.',
    ],
  ])("reports it with its place and its fix: %j", (scopeMappings, issue) => {
    expect(issuesIn({ scopeMappings })).toEqual([issue]);
  });
});

describe("a mistake in the URI of a resource", () => {
  it.each<[object, string]>([
    [
      { "MCP resources/read a*": [] },
      'route_key_invalid MCP resources/read a*: "a*" has `*`, which isn\'t a variable of a URI template. Write `{name}` for one segment of the URI, `{+name}` for the rest of it, or `*` alone for every resource.',
    ],
    [
      { "MCP resources/read docs://:id": [] },
      'route_key_invalid MCP resources/read docs://:id: "docs://:id" has `/:i`, which isn\'t a variable of a URI template. Write `{name}` for one segment of the URI, `{+name}` for the rest of it, or `*` alone for every resource.',
    ],
    [
      { "MCP resources/read docs://<id>": [] },
      'route_key_invalid MCP resources/read docs://<id>: "docs://<id>" has `<`, which isn\'t a variable of a URI template. Write `{name}` for one segment of the URI, `{+name}` for the rest of it, or `*` alone for every resource.',
    ],
    [
      { "MCP resources/read HTTP://A.test": [] },
      "route_key_invalid MCP resources/read HTTP://A.test: `HTTP://A.test` isn't spelled as a URL is. Write `MCP resources/read http://a.test/`.",
    ],
    [
      { "MCP resources/read docs://{id": [] },
      "route_key_invalid MCP resources/read docs://{id: has a brace without a matching brace. Write `{name}` for one segment of the URI, or `{+name}` for the rest of it, with one name in each pair of braces.",
    ],
    [
      { "MCP resources/read docs://id}": [] },
      "route_key_invalid MCP resources/read docs://id}: has a brace without a matching brace. Write `{name}` for one segment of the URI, or `{+name}` for the rest of it, with one name in each pair of braces.",
    ],
    [
      { "MCP resources/read docs://{id}/{id}": [] },
      "route_key_invalid MCP resources/read docs://{id}/{id}: has the variable `id` twice. Give each variable its own name.",
    ],
    [
      { "MCP resources/read docs://{}": [] },
      "route_key_invalid MCP resources/read docs://{}: has `{}`, which doesn't always have one value. Write `{name}` for one segment of the URI, or `{+name}` for the rest of it, with one name in each pair of braces.",
    ],
    [
      { "MCP resources/read docs://{id:3}": [] },
      "route_key_invalid MCP resources/read docs://{id:3}: has `{id:3}`, which doesn't always have one value. Write `{name}` for one segment of the URI, or `{+name}` for the rest of it, with one name in each pair of braces.",
    ],
    [
      { "MCP resources/read docs://{a,b}": [] },
      "route_key_invalid MCP resources/read docs://{a,b}: has `{a,b}`, but servers match only its first name. Write {a},{b}.",
    ],
    [
      { "MCP resources/read docs://{/a,b}": [] },
      "route_key_invalid MCP resources/read docs://{/a,b}: has `{/a,b}`, but servers match only its first name. Write {/a},{/b}.",
    ],
    [
      { "MCP resources/read {id}": [] },
      "route_key_invalid MCP resources/read {id}: `{id}` matches no URI, because it isn't spelled as a URL is. Write a scheme and the rest of the URI: `docs://{name}`, `file:///{+path}`.",
    ],
    [
      { "MCP resources/read HTTP://A.test/{id}": [] },
      "route_key_invalid MCP resources/read HTTP://A.test/{id}: `HTTP://A.test/{id}` matches no URI, because it isn't spelled as a URL is. Write `http://a.test/{id}`.",
    ],
  ])("reports it with its place and its fix: %j", (scopeMappings, issue) => {
    expect(issuesIn({ scopeMappings })).toEqual([issue]);
  });
});

describe("a mistake in two rules", () => {
  it.each<[object, string]>([
    [
      { "GET /a/:x": [], "GET /A/:y/": [] },
      "route_duplicate GET /A/:y/: is the same route as `GET /a/:x`. Keep one of the two: parameter names, letter case and a trailing slash don't make another route.",
    ],
    [
      { "GET /a": ["a:b"], "HEAD /a": [] },
      "rule_outranked HEAD /a: doesn't require what `GET /a` requires (a:b), and frameworks run the GET handler for HEAD. Remove the rule: HEAD uses the rule for GET. If that rule is for a wider path, write one for GET of this path.",
    ],
    [
      { "GET /a/:x": ["a:b"], "GET /:y/b": ["c:d"] },
      "rules_cross GET /:y/b: also matches `GET /a/b`. `GET /a/:x` (a:b) would decide, although neither path contains the other, and a caller that it allows may not satisfy this rule. Add `GET /a/b` with what these requests require.",
    ],
  ])("reports it with its place and its fix: %j", (scopeMappings, issue) => {
    expect(issuesIn({ scopeMappings })).toEqual([issue]);
  });
});

describe("a custom rule that does not replace what its author may think", () => {
  it.each<[object, object, string]>([
    [
      { "* /x": ["a:b"] },
      { "GET /x": ["a:b"], "POST /x": ["c:d"] },
      "override_partial * /x: doesn't replace `GET /x`, `POST /x` of the base table: for the same path, the rule for an exact method decides. Write what these methods require, such as `GET /x`, or pass a base table without them as defaultScopeMappings.",
    ],
    [
      { "GET /x": { scopes: ["a:b"], clients: ["app", "cli"] } },
      { "GET /x": { scopes: ["a:b"], clients: ["app"] } },
      "condition_conflict GET /x: loses or widens a condition of the base table's rule that it replaces, `GET /x` (a:b; the client is app). Repeat the condition.",
    ],
  ])("reports it with its place and its fix: %j next to %j", (scopeMappings, defaultScopeMappings, issue) => {
    expect(issuesIn({ scopeMappings, defaultScopeMappings })).toEqual([issue]);
  });
});

describe("a mistake in the hierarchy of scopes", () => {
  it.each<[object, string]>([
    [
      { "a:*": ["b:c"] },
      'scope_invalid a:*: "a:*" isn\'t a wildcard: `*` stands for every id, and for nothing else. Write one scope for each action, such as `agents:read` or `agents:*:read`.',
    ],
    [
      { "a:b": ["a b"] },
      'scope_invalid a:b: "a b" isn\'t a scope. Write a scope as printable ASCII without spaces, quotation marks and backslashes (RFC 6749 section 3.3).',
    ],
    [{ "a:b": ["c:d,e:f"] }, 'scope_invalid a:b: "c:d,e:f" has a comma. Write a string for each scope.'],
    [{ "a:b": ["a:b"] }, "implied_scopes_cycle a:b: `a:b` implies itself. Remove one link of the cycle."],
    [
      { "a:*:b": ["a:*:c"] },
      'scope_invalid a:*:b: "a:*:b" is a hierarchy for ids. Write `a:b`: a hierarchy for a resource also applies to each of its ids.',
    ],
  ])("reports it with its place and its fix: %j", (impliedScopes, issue) => {
    expect(issuesIn({ scopeMappings: {}, impliedScopes })).toEqual([issue]);
  });
});
