/** `routesOf` for the folder `app` of Next.js, and what the audit reports about it. */
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { audit, type NextRoutesOptions, routesOf } from "scopegate/audit";
import { nextFolders, proxy, wrapped } from "../../../support/next-folder.ts";
import { createServer } from "../../../support/resource-servers.ts";
import { serverFor, unguardedOf, written } from "./support.ts";

const folderWith = nextFolders();

type Files = Readonly<Record<string, string>>;
type Rewrites = readonly (readonly [source: string, destination: string])[];

const toRewrites = (all: Rewrites) => all.map(([source, destination]) => ({ source, destination }));

const RSC = { source: "/:path(.*).rsc", destination: "/:path", permanent: false };
const redirects = (...all: readonly object[]) => ({ redirects: () => all });

/** Lists an application with these files, and the redirect of the guide. */
const list = (files: Files, config: object = {}) =>
  routesOf(folderWith(files), {
    config: typeof config === "function" ? config : { ...redirects(RSC), ...config },
  });

/** What an audit reports: the kind, and the rule of each finding. */
async function findingsOf(files: Files, table: ScopeMappings): Promise<readonly string[]> {
  const { findings } = audit(serverFor(table), await list(files));
  return findings.map((finding) => `${finding.kind} ${"rule" in finding ? finding.rule.key : ""}`);
}

/** The errors of an audit, without those about the table: what is the kind, and the routes of each. */
async function errorsOf(files: Files, table: ScopeMappings, config?: object): Promise<readonly string[]> {
  const { findings } = audit(serverFor(table), await list(files, config));
  return findings.flatMap((finding) => {
    if (finding.severity !== "error" || finding.kind === "rule_unreached") return [];
    const routes = "routes" in finding ? finding.routes : "route" in finding ? [finding.route] : [];
    return [`${finding.kind} ${written(routes).join(", ")}`.trim()];
  });
}

describe("routesOf for Next.js", () => {
  it("lists each kind of folder with the path that clients request", async () => {
    const files = [
      "page.tsx",
      "(shop)/cart/page.jsx",
      "(shop)/layout.tsx",
      "dashboard/@team/members/page.js",
      "dashboard/default.tsx",
      "[slug]/page.tsx",
      "[slug]/[team-id]/page.ts",
      "docs/[...path]/page.tsx",
      "help/[[...path]]/page.tsx",
      "_components/page.tsx",
      "%5Fraw/page.tsx",
      "a b/page.tsx",
      "team-[x]/page.tsx",
      "page/loading.tsx",
    ];
    const routes = await list(Object.fromEntries(files.map((file) => [`app/${file}`, ""])));
    expect(written(routes).toSorted()).toEqual(
      [
        "GET /",
        "GET /cart",
        "GET /dashboard/members",
        "GET /:slug",
        'GET /:slug/:"team-id"',
        "GET /docs/*path",
        "GET /help{/*path}",
        "GET /_raw",
        "GET /a%20b",
        "GET /team-\\[x\\]",
      ].toSorted(),
    );
  });

  it("lists an optional catch-all of the root as every path, and everything below `basePath`", async () => {
    const files = { "app/[[...path]]/page.tsx": "", "app/api/x/route.ts": wrapped("GET /base/api/x") };
    expect(written(await list(files))).toEqual(["GET /{*path}", "GET /api/x"]);
    const below = await list(files, { basePath: "/base" });
    expect(written(below)).toEqual(["GET /base{/*path}", "GET /base/api/x"]);
    expect(unguardedOf(below)).toEqual(["GET /base{/*path}"]);
    // No rule can name this folder.
    const unreadable = { "app/a;b/page.tsx": "", "proxy.ts": proxy() };
    expect(await errorsOf(unreadable, { "* /{*path}": ["a:b"] })).toEqual(["route_unreadable GET /a;b"]);
  });

  it("lists files for search engines and images", async () => {
    const special = [
      "sitemap.ts",
      "robots.js",
      "manifest.ts",
      "favicon.ico",
      "a/opengraph-image.tsx",
      "icon1.png",
    ];
    const files = [...special, "icon.css", "a/icon.test.tsx", "sitemap.md"];
    const routes = await list(Object.fromEntries(files.map((file) => [`app/${file}`, ""])));
    expect(written(routes)).toEqual([
      ...["GET /a/opengraph-image", "GET /favicon.ico", "GET /icon1.png"],
      ...["GET /manifest.webmanifest", "GET /robots.txt", "GET /sitemap.xml"],
    ]);
  });

  it("reads `pageExtensions` and `basePath` of a configuration, also if it is a function or an async one", async () => {
    const files = { "app/a/page.tsx": "", "app/b/page.mdx": "", "app/c/route.api.ts": wrapped("GET /c") };
    expect(written(await list(files, { pageExtensions: ["mdx", "api.ts"] }))).toEqual(["GET /b", "GET /c"]);
    const config = { basePath: "/base" };
    for (const given of [() => config, () => Promise.resolve(config)])
      expect(written(await list({ "app/page.tsx": "" }, given))).toEqual(["GET /base"]);
    const options = { konfig: {} } as NextRoutesOptions;
    await expect(routesOf(folderWith({}), options)).rejects.toThrow("Did you mean `config`?");
  });

  it("notes what it doesn't read", async () => {
    const files = { "app/page.tsx": "", "pages/index.tsx": "", "proxy.ts": proxy("matcherOf(1)") };
    const rewrites = () => toRewrites([["/ingest/:path*", "https://other.example/:path*"]]);
    const routes = await list(files, { i18n: {}, rewrites });
    const { findings } = audit(serverFor({ "* /{*path}": ["a:b"] }), routes);
    const notes = findings.filter(({ kind }) => kind === "not_audited").map(({ message }) => message);
    expect(notes).toEqual([
      expect.stringContaining("the matcher of proxy.ts"),
      expect.stringContaining("i18n"),
      expect.stringContaining("the folder pages"),
      expect.stringContaining("`/ingest/:path*` -> `https://other.example/:path*`"),
    ]);
  });
});

describe("a route handler of Next.js", () => {
  const IMPORT = 'import { withScopes } from "scopegate/fetch";\n';
  const GET = 'export const GET = withScopes(server, { route: "GET /x" }, handler);';

  it.each([
    ["one export", GET],
    ["a route without a method", 'export const GET = withScopes(server, { route: "/x" }, handler);'],
    ["a type", "export const GET: Handler = withScopes<Request>(lib.server, { route: 'GET /x' }, handler);"],
    ["a template", "export const GET = withScopes(server, {\n  route: `GET /x`,\n}, handler);"],
    ["options and types", `export const dynamic = "force-dynamic";\nexport type GET = 1;\n${GET}`],
    ["a type of its value", `${GET.slice(0, -1)} satisfies Next.Handler<"GET", Context>;`],
    ["a cast", `${GET.slice(0, -1)} as unknown as Handler[];`],
    ["a type that is a function", GET.replace("GET =", "GET: (request: Request) => Promise<Response> =")],
    [
      "an option with a body",
      `${GET.slice(0, -12)}, params: async ({ id }, { params }) => { const { a: [b] } = await f(params, "}"); return { id }; } }, handler);`,
    ],
    ["other options", `${GET.slice(0, -12)}, params: ({ id }, context) => context.params }, handler);`],
    ["no semicolon", `${GET.slice(0, -1)}\n\nexport const dynamic = "auto"`],
    ["brackets in strings and in functions", GET.replace("handler", '() => run(`)`, ")", () => f("("))')],
    ["comments", `// export const POST = raw;\n/* see\n * export const PUT = raw */\n${GET}`],
    ["strings with comments", `const a = "/*"; // "\n${GET}\nconst b = "*/";`],
  ])("is guarded with %s", async (_, code) => {
    expect(await errorsOf({ "app/x/route.ts": IMPORT + code }, { "* /x": ["x:use"] })).toEqual([]);
  });

  it("is guarded with the methods of one object", async () => {
    const code = 'export const { GET, POST } = withScopes(server, { route: "/x" }, { GET: a, POST: b });';
    const files = { "app/x/route.ts": IMPORT + code };
    expect(await errorsOf(files, { "* /x": ["x:use"] })).toEqual([]);
    expect(written(await list(files))).toEqual(["GET /x", "POST /x"]);
  });

  it.each([
    ["exchanged", "{ GET: POST, POST: GET }", ["POST", "GET"]],
    ["one", '{ "GET": POST }', ["POST"]],
    ["computed", "{ [name]: GET }", ["GET"]],
  ])("is reported if methods of one object are exported under other names: %s", async (_, names, methods) => {
    const code = `export const ${names} = withScopes(server, { route: "/x" }, { GET: a, POST: b });`;
    const routes = await list({ "app/x/route.ts": IMPORT + code });
    const { findings } = audit(serverFor({ "* /x": ["x:use"] }), routes);
    expect(findings).toMatchObject(
      methods.map((method) => ({
        kind: "route_differs",
        hint: expect.stringContaining(`{ route: "${method} /x" }`) as string,
      })),
    );
  });

  it.each([
    ["a function", "export async function GET() {}", ["GET"]],
    ["a generator", "export function* GET() {}", ["GET"]],
    ["a function value", "export const GET = () => new Response();", ["GET"]],
    [
      "a list",
      "const GET = withScopes(server, handler);\nexport { GET, a as POST, type b };",
      ["GET", "POST"],
    ],
    ["a string as a name", 'export { a as "PUT" };', ["PUT"]],
    ["a renamed variable", "export const { a: DELETE } = handlers;", ["DELETE"]],
    ["another module", 'export { GET } from "./handlers";', ["GET"]],
    ["all of another module", 'export * from "./handlers";', ["*"]],
    ["nothing", "module.exports = { GET };", ["*"]],
    ["another wrapper", "export const GET = limited(withScopes(server, handler));", ["GET"]],
    ["a second variable", `${GET.slice(0, -1)}, POST = raw;`, ["POST"]],
    ["a wrapped and an unwrapped handler", `${GET}\nexport const POST = raw;`, ["POST"]],
    ["another value", `${GET.slice(0, -1)} || raw;`, ["GET"]],
    ["a property of the wrapper", `${GET.slice(0, -1)}\n  .bind(null);`, ["GET"]],
    ["a call of the wrapper", `${GET.slice(0, -1)}(raw);`, ["GET"]],
    ["a cast of another value", `${GET.slice(0, -1)} as Handler || raw;`, ["GET"]],
    ["a call of a cast", `${GET.slice(0, -1)} satisfies Handler<A>(raw);`, ["GET"]],
    ["a composition", GET.replace("withScopes(", "compose(withScopes(").replace(");", "));"), ["GET"]],
    [
      "an unwrapped handler after a variable",
      `${GET}\nexport let a: number;\nexport const POST = raw;`,
      ["POST"],
    ],
    ["a variable that can change", GET.replace("const", "let"), ["GET"]],
    ["a default in a pattern", GET.replace("GET =", "{ GET = raw } ="), ["GET"]],
    ["a nested pattern", `${GET}\nexport const { a: { POST } } = handlers;`, ["*"]],
    ["an array", `${GET}\nexport const [POST] = handlers;`, ["*"]],
    [
      "a comment that may be an expression",
      `${GET}\nconst a = /[/*]/;\nexport const POST = raw; /* */`,
      ["*"],
    ],
  ])("is unguarded with %s", async (_, code, methods) => {
    const routes = await list({ "app/x/route.ts": IMPORT + code });
    expect(unguardedOf(routes)).toEqual(methods.map((method) => `${method} /x`));
    const table = { "* /x": ["x:use"] };
    expect(audit(serverFor(table), routes).text).toContain("export const");
  });

  it.each([
    'import { withScopes } from "./wrappers";',
    'import type { withScopes } from "scopegate/fetch";',
    'import { protect as withScopes } from "scopegate/fetch";',
    '// import { withScopes } from "scopegate/fetch";',
  ])("is unguarded with the import %s", async (statement) => {
    expect(unguardedOf(await list({ "app/x/route.ts": `${statement}\n${GET}` }))).toEqual(["GET /x"]);
  });

  it("needs a wrapper even if its rule is public", async () => {
    const files = { "app/x/route.ts": "export const GET = raw, OPTIONS = raw;" };
    const { findings, text } = audit(serverFor({ "* /x": "public" }), await list(files));
    expect(findings.map(({ kind }) => kind)).toEqual(["route_unguarded", "route_unguarded"]);
    expect(text).not.toContain("If anyone may call it");
  });

  it.each([
    ["no route", "handler", "x"],
    ["a variable", "{ route }", "x"],
    ["another path", '{ route: "GET /y" }', "x"],
    ["another method", '{ route: "POST /x" }', "x"],
    ["another name", '{ route: "GET /:name" }', "[id]"],
    ["one segment", '{ route: "GET /:id" }', "[...id]"],
    ["a spread", '{ route: "GET /x", ...more }', "x"],
    ["a spread after a bracket in a string", '{ route: "GET /x", a: "}", ...more }', "x"],
    ["a computed name", '{ route: "GET /x", ["route"]: a }', "x"],
    ["an escape", '{ route: "GET /x", r\\u006fute: a }', "x"],
    ["a regular expression", '{ route: "GET /x", a: /[}"]/, route: b, c: /"/ }', "x"],
    ["two", '{ route: "GET /x", route: "GET /y" }', "x"],
    ["a quoted name", '{ route: "GET /x", "route": a }', "x"],
    ["no path", '{ route: "GET" }', "x"],
  ])("is reported with %s as its route, also if its rule is public", async (_, options, folder) => {
    const code = `${IMPORT}export const GET = withScopes(server, ${options}, handler);`;
    const files = { [`app/${folder}/route.ts`]: code };
    const table = { "* /x": "public", "GET /:id": "public", "GET /*rest": "public" } as const;
    expect(await errorsOf(files, table)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^route_differs GET /)]),
    );
  });
});

describe("a page of Next.js", () => {
  const table = { "GET /admin{/*path}": ["admin:use"], "GET /": "public" } as const;
  const pages = { "app/page.tsx": "", "app/admin/page.tsx": "", "app/admin/[id]/page.tsx": "" };

  it("is unguarded without a proxy that calls protect", async () => {
    expect(await errorsOf(pages, table)).toEqual(["guard_missing"]);
    const other = { "proxy.ts": 'import { protect } from "./guard";' };
    expect(await errorsOf({ ...pages, ...other }, table)).toEqual(["guard_missing"]);
  });

  const EVERY = ["/admin", "/admin/:id"];

  it.each<[matcher: string | undefined, outside: readonly string[]]>([
    [undefined, []],
    ['"/:path*"', []],
    ['["/", "/admin/:path*"]', []],
    ["['/:path*']", []],
    ['"/(.*)"', []],
    ['"/((?!_next/static|_next/image|api/).*)"', []],
    ['"/((?!robots.txt|\\\\.admin).*)"', []],
    ['"/admin"', ["/admin/:id"]],
    ['"/admin/:id"', ["/admin"]],
    ['["/other/:path*", "/admin/x"]', EVERY],
    ['"/((?!admin/).*)"', ["/admin/:id"]],
    ['"/((?!adm|_next/static).*)"', EVERY],
    ['"/((?!admin/x).*)"', ["/admin/:id"]],
    // A dot is any character, also a slash.
    ['"/((?!ad.in|robots.txt).*)"', EVERY],
    ['"/((?!admin.b).*)"', ["/admin/:id"]],
    ['"/((?!|api).*)"', EVERY],
    // Unlike a rule, a matcher compares letter case.
    ['["/", "/Admin/:path*"]', EVERY],
    // None of these can be read. With `missing`, a matcher leaves out every request that has the header.
    ['matcherOf("/admin")', EVERY],
    ['["/((?!.*\\\\.png$).*)"]', EVERY],
    ['{ source: "/:path*" }', EVERY],
    ['[{ source: "/:path*", missing: [{ type: "header", key: "next-router-prefetch" }] }]', EVERY],
    ['["/:path*", { source: "/admin", has: [{ type: "header", key: "x" }] }]', EVERY],
    ['"/other{/:path}?"', EVERY],
    ['"/admin{/:path}"', EVERY],
    ['["/admin/", "/:path*/"]', EVERY],
  ])("is guarded by a proxy with the matcher %s, except %j", async (matcher, outside) => {
    const found = await errorsOf({ ...pages, "proxy.ts": proxy(matcher) }, table);
    expect(found.toSorted()).toEqual(outside.map((path) => `route_unguarded GET ${path}`));
  });

  it("is guarded by proxy.js", async () => {
    expect(await errorsOf({ ...pages, "proxy.js": proxy() }, table)).toEqual([]);
  });

  it("is unguarded below `/_next`, which a matcher leaves out, if its first segment is a parameter", async () => {
    const files = { "proxy.ts": proxy('"/((?!_next/static|_next/image).*)"'), "app/[lang]/page.tsx": "" };
    const rules = { "GET /:lang": ["a:b"], "GET /:lang/:kind/:id": ["a:b"], "GET /docs{/*rest}": ["a:b"] };
    const used = { "app/[lang]/[kind]/[id]/page.tsx": "", "app/docs/[...rest]/page.tsx": "" };
    expect(await errorsOf({ ...files, ...used }, rules)).toEqual(["route_unguarded GET /:lang/:kind/:id"]);
    const guarded = await list({ ...files, ...used });
    const elsewhere = { guardedElsewhere: ["/:lang/:kind/:id"] };
    expect(audit(serverFor(rules), guarded, elsewhere).ok).toBe(true);
  });

  it("has the same findings with `trailingSlash`, also if its rules end with a slash", async () => {
    const files = { ...pages, "proxy.ts": proxy(), "app/teams/page.tsx": "" };
    const rules = {
      "GET /admin{/*path}{/}": ["admin:use"],
      "GET /": "public",
      "GET /teams{/}": "public",
    } as const;
    const config = { trailingSlash: true, rewrites: () => toRewrites([["/teams/:path*", "/:path*"]]) };
    expect(await errorsOf(files, rules, config)).toEqual([]);
    expect(await errorsOf(files, { ...rules, "GET /teams/*path{/}": "public" }, config)).toEqual([
      "rewrite_weaker GET /admin/:id, GET /admin",
    ]);
  });

  it("is compared with a matcher below the basePath of the configuration", async () => {
    const below = { "GET /base/admin{/*path}": ["admin:use"], "GET /base": "public" } as const;
    const config = { basePath: "/base" };
    for (const matcher of ['["/", "/admin/:path*"]', '"/((?!api).*)"', '"/(.*)"'])
      expect(await errorsOf({ ...pages, "proxy.ts": proxy(matcher) }, below, config)).toEqual([]);
    const found = await errorsOf({ ...pages, "proxy.ts": proxy('"/((?!admin/).*)"') }, below, config);
    expect(found).toEqual(["route_unguarded GET /base/admin/:id"]);
    const closed = { ...below, "GET /base": ["home:read"] };
    const home = await errorsOf({ ...pages, "proxy.ts": proxy('"/((?!api).*)"') }, closed, config);
    expect(home).toEqual(["route_unguarded GET /base"]);
    const both = await errorsOf({ ...pages, "proxy.ts": proxy('["/", "/((?!api).*)"]') }, closed, config);
    expect(both).toEqual([]);
  });

  it("is reached by rules for every method, such as POST for server actions", async () => {
    const rules = { ...table, "POST /admin": ["admin:write"], "DELETE /admin/:id": ["admin:write"] };
    const guarded = { ...pages, "proxy.ts": proxy() };
    const { routes, findings } = audit(serverFor(rules), await list(guarded));
    expect(findings).toEqual([]);
    expect(routes.map(({ parts }) => parts.map(({ key }) => key))).toEqual([
      ["DELETE /admin/:id"],
      ["POST /admin"],
      [],
    ]);
    const misspelled = audit(serverFor({ ...rules, "POST /admn": ["admin:write"] }), await list(guarded));
    expect(misspelled.findings).toMatchObject([{ kind: "rule_unreached", rule: { key: "POST /admn" } }]);
  });

  it("is rendered for every method: its rules for POST count for the matcher, and one for all methods may open it", async () => {
    const files = { ...pages, "proxy.ts": proxy('"/admin/:path*"') };
    expect(await errorsOf(files, { ...table, "* /{*path}": ["a:b"] })).toEqual([]);
    expect(await errorsOf(files, { ...table, "POST /": ["a:b"] })).toEqual(["route_unguarded GET /"]);
    const found = await findingsOf({ ...pages, "proxy.ts": proxy() }, { ...table, "* /{*path}": [] });
    expect(found).toContain("wider_rule_weaker * /{*path}");
  });
});

describe("a rewrite of Next.js", () => {
  const files = {
    "proxy.ts": proxy(),
    "app/page.tsx": "",
    "app/admin/page.tsx": "",
    "app/orgs/[org]/page.tsx": "",
    "app/docs/[...path]/page.tsx": "",
    "app/api/admin/users/route.ts": wrapped("GET /api/admin/users"),
  };
  const base = {
    "GET /": "public",
    "GET /admin": ["admin:use"],
    "GET /orgs/:org": ["orgs:<org>:read"],
    "GET /docs/*path": "public",
    "GET /docs/internal{/*path}": ["staff:read"],
    "GET /api/admin/users": ["admin:use"],
  } as const;
  const teams: Rewrites = [["/teams/:teamId/:path*", "/:path*"]];
  const openedBy = (rewrites: Rewrites, table: ScopeMappings, more: Files = {}) =>
    errorsOf({ ...files, ...more }, { ...base, ...table }, { rewrites: () => toRewrites(rewrites) });

  const TWICE: Rewrites = [
    ["/a", "/b/x"],
    ["/b/:any", "/admin"],
  ];
  const OPEN = { "GET /teams{/*path}": "public" } as const;
  const CLOSED = {
    ...OPEN,
    "GET /teams/:team/admin": ["admin:use"],
    "GET /teams/:team/orgs/:name": ["orgs:<name>:read"],
    "GET /teams/:team/docs/internal{/*path}": ["staff:read", "more:read"],
  } as const;
  const ALL = ["/admin", "/docs/*path", "/orgs/:org"];
  const WHERE = { scopes: [], where: { org: { claim: "org" } } };
  const TENANT = { "GET /t/:org{/*path}": WHERE };
  const EXEMPT = {
    "GET /t/x/y": "public",
    "GET /t/:org{/*path}": { ...WHERE, except: ["GET /t/x/y"] },
  } as const;
  const CLIENTS = { "GET /*path": { scopes: [], clients: ["web"] }, "GET /docs/*path": ["a:b"] };

  const PAGE = { "app/t/[org]/admin/page.tsx": "" };

  it.each<[Rewrites, ScopeMappings, readonly string[], Files?]>([
    [teams, OPEN, ALL],
    [teams, CLOSED, []],
    [teams, { ...CLOSED, "GET /teams/:team/admin": ["admin:see"] }, ["/admin"]],
    // The other parameter.
    [teams, { ...CLOSED, "GET /teams/:team/orgs/:name": ["orgs:<team>:read"] }, ["/orgs/:org"]],
    // Next.js renders a page for every method.
    [teams, { ...CLOSED, "POST /teams{/*path}": "optional" }, ALL],
    [[["/a", "/admin?from=a#b"]], { "GET /a": [] }, ["/admin"]],
    [[["/:path*", "/admin"]], { "GET /:page": [] }, ["/admin"]],
    [[["/org-:x", "/orgs/:x"]], { "GET /:a": [] }, ["/orgs/:org"]],
    [[["/n/:x", "/orgs/:x"]], { "GET /n/:a": ["orgs:<a>:read"] }, []],
    [[["/mine", "/orgs/mine"]], { "GET /mine": ["orgs:mine:read"] }, []],
    [[["/mine", "/orgs/own"]], { "GET /mine": ["orgs:mine:read"] }, ["/orgs/:org"]],
    // The value of a parameter may have another letter case.
    [[["/orgs/acme/start", "/orgs/acme"]], { "GET /orgs/:org/start": ["orgs:<org>:read"] }, ["/orgs/:org"]],
    [[["/orgs/acme/start", "/orgs/acme"]], { "GET /orgs/acme/start": ["orgs:acme:read"] }, []],
    [[["/n/:x(\\d+)", "/orgs/:x"]], { "GET /n/:x": [] }, ["/orgs/:org"]],
    [[["/n/:x(.*)", "/:x"]], { "GET /n{/*x}": ["admin:use"] }, ["/docs/*path", "/orgs/:org"]],
    [[["/(a|b)c/(.*)", "/admin"]], { "GET /n/y": [] }, ["/admin"]],
    [[["/n/:x?", "/orgs/:x"]], { "GET /n{/*x}": [] }, ["/orgs/:org"]],
    [[["/n/:x+", "/:x+"]], { "GET /n/*x": ["admin:use", "staff:read"] }, ["/orgs/:org"]],
    // The value of a header.
    [[["/n", "/:from"]], { "GET /n": ["staff:read"] }, ["/admin", "/orgs/:org"]],
    [[["/n", "/a-:from/x"]], { "GET /n": "public" }, ALL],
    [[["/n/:x*", "/adm:x"]], { "GET /n{/*x}": ["staff:read", "orgs:read"] }, ["/admin"]],
    [TWICE, { "GET /a": [], "GET /b/x": ["admin:use"], "GET /b/:x": ["admin:use"] }, ["/admin"]],
    [TWICE.toReversed(), { "GET /a": [], "GET /b/:x": ["admin:use"] }, []],
    [[["/a", "/logo.svg"]], { "GET /a": "public" }, []],
    // Conditions hold for the path of the client, or not.
    [[["/of/:name", "/orgs/:name"]], { "GET /orgs/:org": WHERE, "GET /of/:org": [] }, ["/orgs/:org"]],
    [[["/a", "/admin"]], { ...CLIENTS, "GET /a": ["admin:use"] }, []],
    [[["/t/:o/start", "/t/:o/admin"]], TENANT, [], PAGE],
    [[["/t/:o/start/:p", "/t/:p/admin"]], TENANT, ["/t/:org/admin"], PAGE],
    [[["/t/x/y", "/t/x/admin"]], EXEMPT, ["/t/:org/admin"], PAGE],
  ])("%j with the rules %j opens %j", async (rewrites, table, opened, more) => {
    const found = await openedBy(rewrites, table, more);
    const routes = [...new Set(found.flatMap((line) => line.replace("rewrite_weaker ", "").split(", ")))];
    expect(routes.toSorted()).toEqual(opened.map((path) => `GET ${path}`).toSorted());
  });

  it("opens a handler that isn't wrapped with its route", async () => {
    const unwrapped = { "app/api/admin/users/route.ts": "export const GET = raw;" };
    expect(await openedBy(teams, OPEN, unwrapped)).toEqual([
      expect.stringContaining("rewrite_weaker GET /admin, GET /api/admin/users"),
      "route_unguarded GET /api/admin/users",
    ]);
  });

  it("opens nothing if the rules for each method require what those of the page require", async () => {
    const rewrites: Rewrites = [["/boss", "/admin"]];
    const same = (rules: Readonly<Record<string, string[]>>) => ({
      ...rules,
      ...Object.fromEntries(Object.entries(rules).map(([key, rule]) => [key.replace("admin", "boss"), rule])),
    });
    for (const method of ["POST", "*", "HEAD"]) {
      const table = same({ "GET /admin": ["admin:see"], [`${method} /admin`]: ["admin:see", "admin:use"] });
      expect(await openedBy(rewrites, table)).toEqual([]);
      const weaker = { ...table, [`${method} /boss`]: ["admin:see"] };
      expect(await openedBy(rewrites, weaker)).toEqual(["rewrite_weaker GET /admin"]);
    }
    // Without a rule for POST, the page is what the rule for GET protects.
    const open = { ...same({ "GET /admin": ["admin:see"] }), "POST /boss": ["a:b"] };
    expect(await openedBy(rewrites, open)).toEqual(["rewrite_weaker GET /admin"]);
  });

  it("doesn't open a page for the path of a narrower route", async () => {
    const app = {
      "proxy.ts": proxy(),
      "app/[...path]/page.tsx": "",
      "app/api/users/route.ts": wrapped("GET /api/users"),
      "app/hello/route.ts": wrapped("GET /hello"),
    };
    const table = {
      "GET /*path": ["pages:read"],
      "GET /api/users": ["users:read"],
      "GET /hello": "public",
      "GET /teams{/*path}": ["pages:read"],
      "GET /teams/:team/hello": "public",
    } as const;
    const config = { rewrites: () => toRewrites(teams) };
    expect(await errorsOf(app, table, config)).toEqual([]);
    const open = { ...table, "GET /teams/:team/bye": "public" } as const;
    expect(await errorsOf(app, open, config)).toEqual(["rewrite_weaker GET /*path"]);
  });

  it("isn't reported for a page that no proxy guards", async () => {
    const table = { "GET /admin": ["admin:use"], "GET /a": "public" } as const;
    const config = { rewrites: () => toRewrites([["/a", "/admin"]]) };
    expect(await errorsOf({ "app/admin/page.tsx": "" }, table, config)).toEqual(["guard_missing"]);
  });

  it("is not followed by others in every order if there are too many", async () => {
    const every = Array.from({ length: 12 }, (): Rewrites[number] => ["/:path*", "/:path*"]);
    const routes = await list(files, { rewrites: () => toRewrites(every) });
    const { findings } = audit(serverFor(base), routes);
    expect(findings.filter(({ kind }) => kind === "not_audited")).toMatchObject([
      { message: expect.stringContaining("all orders") as string },
    ]);
  });

  it("is reported once, with each path that it opens", async () => {
    const rewrites = () => toRewrites(teams);
    const server = serverFor({ ...base, "GET /teams{/*path}": "public" });
    const { findings } = audit(server, await list(files, { rewrites }));
    const [finding] = findings;
    expect(finding).toMatchObject({ kind: "rewrite_weaker", severity: "error" });
    expect(finding?.message).toBe(
      [
        "the rewrite `/teams/:teamId/:path*` -> `/:path*` opens 3 routes:",
        "`/teams/:teamId/admin` runs `GET /admin` by `GET /teams{/*path}` instead of `GET /admin`;",
        "`/teams/:teamId/docs/*path` runs `GET /docs/*path` by `GET /teams{/*path}` instead of `GET /docs/internal{/*path}`;",
        "`/teams/:teamId/orgs/:org` runs `GET /orgs/:org` by `GET /teams{/*path}` instead of `GET /orgs/:org`.",
      ].join(" "),
    );
  });

  it("is read in each of the three lists, with its own `basePath`", async () => {
    const table = { ...base, "GET /a": "public", "GET /b": "public", "GET /c": "public" } as const;
    const below = Object.fromEntries(
      Object.entries(table).map(([key, rule]) => [key.replace(/ \/?/, " /base/").replace(/\/$/, ""), rule]),
    ) as ScopeMappings;
    const rewrites = () => ({
      beforeFiles: toRewrites([["/a", "/admin"]]),
      afterFiles: toRewrites([["/b", "/orgs/x"]]),
      fallback: [{ source: "/c", destination: "https://other.example/", basePath: false }],
    });
    const { findings } = audit(serverFor(below), await list(files, { basePath: "/base", rewrites }));
    const opened = findings.flatMap((finding) =>
      finding.kind === "rewrite_weaker" ? written(finding.routes) : [],
    );
    expect(opened).toEqual(["GET /base/admin", "GET /base/orgs/:org"]);
  });

  it.each(["/admin", "/admin/icon.png"])(
    "opens what the proxy doesn't guard under the path of the client: %s",
    async (target) => {
      const matcher = proxy('["/", "/admin/:path*", "/docs/:path*", "/orgs/:org", "/a", "/A"]');
      const more = { "proxy.ts": matcher, "app/admin/icon.png": "" };
      const rule = ["admin:use"];
      const rules = { "GET /a": rule, "GET /b": rule, "GET /admin/icon.png": rule };
      expect(await openedBy([["/a", target]], rules, more)).toEqual([]);
      expect(await openedBy([["/b", target]], rules, more)).toEqual([`rewrite_weaker GET ${target}`]);
    },
  );

  const ALIAS = { rewrites: () => toRewrites([["/a", "/admin"]]) };
  const BASE = { ...ALIAS, basePath: "/base" };
  const SENSITIVE = { experimental: { caseSensitiveRoutes: true } };
  const OPENED = ["rewrite_weaker GET /admin"];

  it.each<[matcher: string | undefined, config: object, opened: readonly string[]]>([
    ['["/", "/admin/:path*", "/a"]', ALIAS, OPENED],
    ['["/", "/admin/:path*", "/a"]', { ...ALIAS, ...SENSITIVE }, []],
    ['["/", "/admin/:path*", "/:name"]', ALIAS, []],
    ['"/((?!_next/static).*)"', BASE, ["rewrite_weaker GET /base/admin"]],
    ['"/((?!_next/static).*)"', { ...BASE, ...SENSITIVE }, []],
    [undefined, BASE, []],
  ])(
    "opens what the matcher %s doesn't guard in another letter case, with %j",
    async (matcher, config, opened) => {
      const app = { "app/admin/page.tsx": "", "proxy.ts": proxy(matcher) };
      const prefix = "basePath" in config ? "/base" : "";
      const table = { [`GET ${prefix}/admin`]: ["admin:use"], [`GET ${prefix}/a`]: ["admin:use"] };
      expect(await errorsOf(app, table, config)).toEqual(opened);
      const { text } = audit(serverFor(table), await list(app, config));
      expect(text.includes("` without protect")).toBe(opened.length > 0);
    },
  );

  it("opens what requires scopes if any token is enough for a path without a rule", async () => {
    const rewrites = () => toRewrites([["/a", "/admin"]]);
    const server = createServer({ unmappedRoutes: "authenticated", scopeMappings: base });
    const { findings } = audit(server, await list(files, { rewrites }));
    expect(findings.map(({ kind }) => kind)).toContain("rewrite_weaker");
  });
});

describe("a final .rsc, which proxy.ts of Next.js doesn't see,", () => {
  const openedBy = (page: string, table: ScopeMappings, ...all: readonly object[]) =>
    errorsOf({ [`app/${page}/page.tsx`]: "", "proxy.ts": proxy() }, table, redirects(...all));
  const notes = { "GET /notes/:id": ["notes:<id>:read"] };

  const WHERE = { "GET /notes/:id": { scopes: [], where: { id: { claim: "note" } } } };
  const PARTS = { "GET /notes/:id/parts/:part": ["notes:<id>:read"] };
  const DOCS = { "GET /docs{/*path}": ["docs:read"] };
  const ITEMS = { "GET /docs/:id": ["a:b"] };

  it.each<[page: string, table: ScopeMappings, opened: readonly string[]]>([
    // Its rule reads the last parameter.
    ["notes/[id]", notes, ["/notes/:id"]],
    ["notes/[id]", { "GET /notes/:id": ["notes:read"] }, []],
    ["notes/[id]/parts/[part]", PARTS, []],
    ["notes/[id]", WHERE, ["/notes/:id"]],
    // Another rule decides the path without it.
    ["docs/[[...path]]", DOCS, []],
    ["docs/[[...path]]", { ...DOCS, "GET /docs/open": "public" }, ["/docs{/*path}"]],
    ["docs/[[...path]]", { ...DOCS, "GET /docs/a/b/open": "public" }, ["/docs{/*path}"]],
    // `/docs/open/x` and `/docs/open/x.rsc` have the same rule.
    ["docs/[[...path]]", { ...DOCS, "GET /docs/open/*path": "public" }, []],
    ["docs/open", { "GET /docs/open": ["a:b"], "GET /docs/*path": [] }, []],
    // A rule for the path of the folder alone ends with a slash.
    ["[name]", { "GET /": "public", "GET /docs": "public", "GET /:name": ["a:b"] }, ["/:name"]],
    ["docs/[id]", { ...ITEMS, "GET /docs": "public" }, []],
    ["docs/[id]", { ...ITEMS, "GET /docs": "public", "GET /teams{/}": ["a:b"] }, []],
    ["docs/[id]", { ...ITEMS, "GET /docs{/}": "public" }, ["/docs/:id"]],
  ])("lets the page %s with the rules %j open %j", async (page, table, opened) => {
    expect(await openedBy(page, table)).toEqual(opened.map((path) => `rewrite_weaker GET ${path}`));
  });

  it("opens no wrapped handler, and no page that is already reported", async () => {
    const handler = { "app/notes/[id]/route.ts": wrapped("GET /notes/:id"), "proxy.ts": proxy() };
    expect(await errorsOf(handler, notes, redirects())).toEqual([]);
    const outside = { "app/notes/[id]/page.tsx": "", "proxy.ts": proxy('"/other"') };
    expect(await errorsOf(outside, notes, redirects())).toEqual(["route_unguarded GET /notes/:id"]);
  });

  it.each<[redirect: object, opened: number]>([
    [RSC, 0],
    [{ ...RSC, source: "/:any(.*)\\.rsc", destination: "/" }, 0],
    [{ ...RSC, source: "/docs/:path(.*).rsc" }, 1],
    // This doesn't match `/.rsc`.
    [{ ...RSC, source: "/:path*.rsc" }, 1],
    [{ ...RSC, has: [{ type: "header", key: "rsc" }] }, 1],
    [{ ...RSC, missing: [{ type: "header", key: "rsc" }] }, 1],
    [{ ...RSC, basePath: false }, 1],
  ])("opens nothing with a redirect for every such path: %j opens %i", async (redirect, opened) => {
    expect(await openedBy("notes/[id]", notes, {}, redirect)).toHaveLength(opened);
  });

  it("is reported once, with the redirect to write", async () => {
    const files = {
      "app/notes/[id]/page.tsx": "",
      "app/docs/[...path]/page.tsx": "",
      "proxy.ts": proxy(),
    };
    const table = { ...notes, "GET /docs/*path": ["docs:read"], "GET /docs/open": "public" } as const;
    const { findings } = audit(serverFor(table), await list(files, redirects()));
    expect(findings).toMatchObject([
      {
        kind: "rewrite_weaker",
        message: [
          "`.rsc`, which proxy.ts doesn't see at the end of a path, opens 2 routes:",
          "`/docs/:part2.rsc` runs `GET /docs/*path` by `GET /docs/open` instead of `GET /docs/*path`;",
          "`/notes/:part2.rsc` runs `GET /notes/:id` by `GET /notes/:id` for another value.",
        ].join(" "),
        hint: expect.stringContaining(JSON.stringify(RSC.source)) as string,
      },
    ]);
  });
});

describe("a file in the folder public of Next.js", () => {
  const files = {
    "app/page.tsx": "",
    "proxy.ts": proxy(),
    "public/logo.svg": "",
    "public/reports/2026 (1)/a#b.pdf": "",
  };
  const table = { "GET /": "public", "GET /reports{/*path}": ["reports:read"] } as const;

  it("is listed with its path, also next to `src` and below `basePath`", async () => {
    const paths = ["/logo.svg", "/reports/2026%20\\(1\\)/a%23b.pdf"];
    expect(written(await list(files))).toEqual(["GET /", ...paths.map((path) => `GET ${path}`)]);
    const moved = Object.entries(files).map(([path]) => [path.replace(/^(app|proxy)/, "src/$1"), ""]);
    const folder = `${folderWith(Object.fromEntries(moved) as Files)}/../src/app`;
    const below = await routesOf(folder, { config: { basePath: "/base" } });
    expect(written(below)).toEqual(["GET /base", ...paths.map((path) => `GET /base${path}`)]);
  });

  it("needs no rule, and a rule for it isn't unreached", async () => {
    expect(await findingsOf(files, table)).toEqual([]);
    const more = { ...table, "GET /logo.svg": "public", "GET /logo.png": "public" } as const;
    expect(await findingsOf(files, more)).toEqual(["rule_unreached GET /logo.png"]);
  });

  it("is unguarded outside the matcher if its rule requires a token", async () => {
    const outside = { ...files, "proxy.ts": proxy('["/", "/other"]') };
    const file = "route_unguarded GET /reports/2026%20\\(1\\)/a%23b.pdf";
    expect(await errorsOf(outside, { ...table, "GET /logo.svg": "public" })).toEqual([file]);
    expect(await errorsOf({ ...outside, "proxy.ts": "" }, table)).toEqual(["guard_missing"]);
  });

  it("is opened by a rewrite from a rule that requires less", async () => {
    const rewritesOf = (...all: Rewrites) => ({ rewrites: () => toRewrites(all) });
    const config = rewritesOf(["/files/:path*", "/reports/:path*"]);
    const opened = "rewrite_weaker GET /reports/2026%20\\(1\\)/a%23b.pdf";
    expect(await errorsOf(files, { ...table, "GET /files{/*path}": "public" }, config)).toEqual([opened]);
    const same = { ...table, "GET /files{/*path}": ["reports:read"], "POST /files{/*path}": [] };
    expect(await errorsOf(files, same, config)).toEqual([]);
    const logo = rewritesOf(["/a", "/logo.svg"]);
    expect(await errorsOf(files, { ...table, "GET /a": "public" }, logo)).toEqual([]);
  });

  it("is named once for each rule, however many there are", async () => {
    const many = Array.from({ length: 500 }, (_, index) => [`public/reports/${index}.pdf`, ""]);
    const all = { ...files, ...(Object.fromEntries(many) as Files) };
    const rules = { ...table, "GET /files{/*path}": "public", "GET /reports/0.pdf": ["a:b"] } as const;
    const config = { rewrites: () => toRewrites([["/files/:path*", "/reports/:path*"]]) };
    const { text, summary } = audit(serverFor(rules), await list(all, config));
    expect(summary).toBe("3 routes, each with a rule; 1 error");
    expect(text.match(/`\/files\/[^`]*` runs/g)).toHaveLength(2);
    const outside = audit(serverFor(table), await list({ ...all, "proxy.ts": proxy('"/"') }));
    expect(outside.findings.map(({ kind }) => kind)).toEqual(["route_unguarded"]);
  });
});

describe("an intercepting route of Next.js", () => {
  it.each([
    ["feed/(.)photo/[id]", "/feed/photo/:id", "/feed/\\(.\\)photo/:id"],
    ["feed/(..)photo/[id]", "/photo/:id", "/feed/\\(..\\)photo/:id"],
    ["(group)/a/@modal/b/(..)(..)photo/[id]", "/photo/:id", "/a/b/\\(..\\)\\(..\\)photo/:id"],
    ["a/b/(...)photo/[id]", "/photo/:id", "/a/b/\\(...\\)photo/:id"],
  ])("has the rule of the path that it intercepts: %s", async (folder, pattern, path) => {
    const files = { [`app/${folder}/page.tsx`]: "", "proxy.ts": proxy() };
    expect(written(await list(files))).toEqual([`GET ${pattern}`, `* ${path}`]);
    const table = { [`GET ${pattern}`]: ["photos:<id>:read"] };
    expect(await findingsOf(files, table)).toEqual([]);
    // A client can request the page by the path of its folder.
    const open = { ...table, [`GET ${path}`]: "public" as const };
    expect(await errorsOf(files, open)).toEqual([`rewrite_weaker GET ${pattern}`]);
  });

  it("reaches the rules for the path of its folder, also for server actions", async () => {
    const files = { "app/feed/(.)photo/[id]/page.tsx": "", "proxy.ts": proxy() };
    const folder = "/feed/\\(.\\)photo/:id";
    for (const method of ["GET", "POST", "*"]) {
      const table = { "GET /feed/photo/:id": ["a:b"], [`${method} ${folder}`]: ["a:b"] };
      expect(await findingsOf(files, table)).toEqual([]);
      const misspelled = `${method} ${folder.replace("photo", "foto")}`;
      expect(await findingsOf(files, { ...table, [misspelled]: ["a:b"] })).toEqual([
        `rule_unreached ${misspelled}`,
      ]);
    }
  });
});
