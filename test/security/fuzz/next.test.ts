/**
 * Random Next.js applications: whatever is rewritten, no handler runs for a caller who doesn't satisfy the rule
 * of its path, and no page either if the audit is content. Both are judged by the specification.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError, createResourceServer, type ResourceServer } from "scopegate";
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
const requests = fc.array(
  fc.record({
    method: fc.constantFrom("GET", "GET", "HEAD", "POST"),
    path: requestPath,
    scopes: callerScopes,
  }),
  { minLength: REQUESTS, maxLength: REQUESTS },
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
    await fc.assert(fc.asyncProperty(application, table, requests, check), { numRuns });
    // Otherwise the test would show nothing.
    if (process.env["COUNT"]) console.log({ ran, rewritten, numRuns });
    expect(ran).toBeGreaterThan(numRuns / 10);
    expect(rewritten).toBeGreaterThan(0);
  });
});

type Sent = Readonly<{ method: string; path: string; scopes: readonly string[] | undefined }>;
