/**
 * Random Next.js applications: whatever is rewritten, no handler runs for a caller who doesn't satisfy the rule
 * of its path, and no page or file either if the audit is content. Both are judged by the specification.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError, type ResourceServer } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { protect, withScopes } from "scopegate/fetch";
import { divide } from "../../model/helpers.ts";
import { type NextApplication, type NextMatch, resolve } from "../../model/next.ts";
import { application, callerScopes, requestPath, table } from "../../model/next-applications.ts";
import {
  alternativesOf,
  candidatesFor,
  covers,
  coversParts,
  matchSegments,
  type Rule,
  rulesOfPath,
  rulesOfRoute,
} from "../../model/specification.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { createIssuer } from "../../support/issuer.ts";
import { proxy } from "../../support/next-folder.ts";
import { createResourceServer } from "../../support/server.ts";
import { fuzzRuns } from "./runs.ts";

const ORIGIN = "http://host.example";
const issuer = createIssuer();
const tokens = new Map<string, Promise<string>>();

/** Returns a token with these scopes, of which there are few. */
function tokenWith(scopes: readonly string[]): Promise<string> {
  const key = scopes.join(" ");
  const token = tokens.get(key) ?? issuer.token({ scopes });
  tokens.set(key, token);
  return token;
}

/** Creates a server with a table, if the table can start. */
function serverWith(rules: readonly Rule[]): ResourceServer | undefined {
  try {
    return createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: Object.fromEntries(
        rules.map(({ method, pattern, requirement }) => [`${method} ${pattern}`, requirement]),
      ),
    });
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** The pattern of a folder, written independently of the audit. */
function routeOf({ basePath = "" }: NextApplication, folder: string): string {
  const path = folder
    .replaceAll(/\/\(\w+\)/g, "")
    .replaceAll(/\/\[\[\.\.\.(\w+)\]\]/g, "{/*$1}")
    .replaceAll(/\[\.\.\.(\w+)\]/g, "*$1")
    .replaceAll(/\[(\w+)\]/g, ":$1");
  if (path === "/" || path === "") return basePath === "" ? "/" : basePath;
  return `${basePath}${path}`.replace(/^\{\//, "/{");
}

/** The path that the folder and the parameters of a handler spell. */
function spell({ basePath = "" }: NextApplication, { folder, params }: NextMatch): string {
  const segments = folder
    .split("/")
    .filter((segment) => segment !== "" && !segment.startsWith("("))
    .flatMap((segment) => {
      const name = /^\[+(?:\.\.\.)?(\w+)\]/.exec(segment)?.[1];
      return name === undefined ? segment : [params[name] ?? []].flat().map(encodeURIComponent);
    });
  return `${basePath}/${segments.join("/")}`.replace(/(?<=.)\/$/, "");
}

/** Returns whether a caller satisfies a rule at a path. */
function isSatisfied(rule: Rule, path: readonly string[], scopes: readonly string[] | undefined): boolean {
  const { requirement, pattern } = rule;
  if (typeof requirement === "string") return true;
  const alternative = alternativesOf(pattern).find(({ segments }) => matchSegments(segments, path));
  return (
    scopes !== undefined &&
    requirement.every((required) => {
      const at = alternative?.segments.indexOf(":x") ?? -1;
      return scopes.some((scope) =>
        required.includes("<x>")
          ? coversParts(scope, ["items", decodeURIComponent(path[at] ?? ""), "read"])
          : covers(scope, required),
      );
    })
  );
}

/** Returns whether the specification allows a caller a path, and the route that runs for it. */
function isAllowed(
  rules: readonly Rule[],
  method: string,
  target: string,
  route: string | undefined,
  scopes: readonly string[] | undefined,
): boolean {
  const path = divide(target);
  const ofPath = rulesOfPath(candidatesFor(rules, method, path), method, path.hasSlash);
  const ruling = route === undefined ? ofPath : rulesOfRoute(rules, method, path, route, ofPath);
  return (
    ruling.kind === "rules" && [...ruling.rules].every((rule) => isSatisfied(rule, path.segments, scopes))
  );
}

const REQUESTS = 10;
const requestsOf = (count: number) =>
  fc.array(
    fc.record({
      method: fc.constantFrom("GET", "GET", "HEAD", "POST"),
      path: requestPath,
      scopes: callerScopes,
    }),
    { minLength: count, maxLength: count },
  );

/** A request to a path of the application. */
async function requestOf(
  method: string,
  path: string,
  scopes: readonly string[] | undefined,
): Promise<Request> {
  const headers: Record<string, string> =
    scopes === undefined ? {} : { authorization: `Bearer ${await tokenWith(scopes)}` };
  return new Request(`${ORIGIN}${path}`, { method, headers });
}

describe("a random Next.js application", () => {
  it("runs no handler whose rule the caller doesn't satisfy", async () => {
    let [ran, rewritten] = [0, 0];
    const check = async (app: NextApplication, rules: readonly Rule[], sent: Sent[]): Promise<void> => {
      const server = serverWith(rules);
      if (!server) return;
      const handlers = new Map(
        app.folders.map((folder) => [
          folder,
          withScopes(
            server,
            { route: routeOf(app, folder) },
            (_request: Request, _access, _context: object) => Response.json("ran"),
          ),
        ]),
      );
      for (const { method, path: inside, scopes } of sent) {
        const path = `${app.basePath ?? ""}${inside}`;
        const match = resolve(app, path);
        if (!match) continue;
        const request = await requestOf(method, path, scopes);
        const context = { params: Promise.resolve(match.params) };
        const response = await handlers.get(match.folder)?.(request, context);
        if (response?.status !== 200) continue;
        ran += 1;
        if (match.path !== path) rewritten += 1;
        const route = routeOf(app, match.folder);
        const target = spell(app, match);
        expect({ target, route, isAllowed: isAllowed(rules, method, target, route, scopes) }).toEqual({
          target,
          route,
          isAllowed: true,
        });
        // The rule for the path of the client must be satisfied too.
        expect({ path, isAllowed: isAllowed(rules, method, path, undefined, scopes) }).toEqual({
          path,
          isAllowed: true,
        });
      }
    };
    const numRuns = Math.ceil(fuzzRuns(3_000) / REQUESTS);
    await fc.assert(fc.asyncProperty(application, table, requestsOf(REQUESTS), check), { numRuns });
    // Otherwise the test would show nothing.
    expect(ran).toBeGreaterThan(numRuns / 10);
    expect(rewritten).toBeGreaterThan(0);
  });

  it("renders no page and sends no file whose rule the caller doesn't satisfy, if the audit reports no route", async () => {
    const parent = temporaryFolder("next-fuzz");
    let [audited, ran, opened, cut] = [0, 0, 0, 0];
    const check = async (app: NextApplication, some: readonly Rule[], sent: Sent[]): Promise<void> => {
      // A page without a rule is reported, so each has one.
      const rules = some.some(isForAll) ? some : [...some, FOR_ALL];
      const server = serverWith(rules);
      if (!server) return;
      const folder = writePages(parent, app);
      const { findings } = audit(server, await routesOf(folder, { config: configOf(app) }));
      rmSync(folder, { recursive: true });
      if (findings.some(({ severity, kind }) => severity === "error" && REPORTED.includes(kind))) return;
      audited += 1;
      const guard = protect(server);
      for (const { method, path: inside, scopes } of sent) {
        const path = `${app.basePath ?? ""}${inside}`;
        const match = path.endsWith(".rsc") && app.isRscRedirected ? undefined : resolve(app, path);
        // Next.js removes a final `.rsc` from the path for the proxy.
        const guarded = path.replace(/\.rsc$/, "");
        // The rules of paths that aren't rewritten are meant as they are written.
        if (!match || match.path === guarded) continue;
        const isFile = app.files.includes(match.folder);
        // Next.js refuses to send a file for POST.
        if (isFile && method === "POST") continue;
        const access = await guard(await requestOf(method, guarded, scopes));
        if (!("decision" in access)) continue;
        ran += 1;
        if (guarded !== path) cut += 1;
        if (isFile) opened += 1;
        const route = routeOf(app, match.folder);
        const at = divide(match.path);
        // Without a rule for the method of the request, the page is what the rule for GET protects.
        const ruling = [method, "GET"]
          .map((each) => rulesOfPath(candidatesFor(rules, each, at), each, at.hasSlash))
          .find(({ kind }) => kind !== "unmapped");
        // A path that routers read in several ways is refused, so no rule was written for it.
        const required = ruling?.kind === "rules" && ruling.isExact ? [...ruling.rules] : [];
        const unmet = required.filter((each) => !isSatisfied(each, at.segments, scopes));
        expect({ path, target: match.path, route, unmet }).toMatchObject({ unmet: [] });
      }
    };
    const numRuns = Math.ceil(fuzzRuns(3_000) / REQUESTS);
    await fc.assert(fc.asyncProperty(application, table, requestsOf(4 * REQUESTS), check), { numRuns });
    expect(audited).toBeGreaterThan(numRuns / 50);
    expect(ran).toBeGreaterThan(0);
    expect(opened).toBeGreaterThan(0);
    expect(cut).toBeGreaterThan(0);
  });
});

const FOR_ALL: Rule = { method: "GET", pattern: "/{*rest}", requirement: ["a:read", "b:read"] };
const isForAll = ({ method, pattern }: Rule): boolean => method !== "POST" && pattern === FOR_ALL.pattern;

const REPORTED: readonly string[] = [
  "rewrite_weaker",
  "route_unmapped",
  "route_partly_mapped",
  "route_unguarded",
  "guard_missing",
];

/** Writes an application of pages and files that a proxy guards, and returns the path of its folder `app`. */
function writePages(parent: string, { folders, files }: NextApplication): string {
  const project = mkdtempSync(join(parent, "project-"));
  writeFileSync(join(project, "proxy.ts"), proxy());
  const pages = folders.map((folder) => join("app", folder, "page.tsx"));
  for (const file of [...pages, ...files.map((each) => join("public", each))]) {
    mkdirSync(join(project, dirname(file)), { recursive: true });
    writeFileSync(join(project, file), "");
  }
  return join(project, "app");
}

const configOf = ({
  basePath = "",
  beforeFiles,
  afterFiles,
  fallback,
  isRscRedirected,
}: NextApplication) => ({
  basePath,
  redirects: () => (isRscRedirected ? [{ source: "/:path(.*).rsc", destination: "/:path" }] : []),
  rewrites: () => ({ beforeFiles, afterFiles, fallback }),
});

type Sent = Readonly<{ method: string; path: string; scopes: readonly string[] | undefined }>;
