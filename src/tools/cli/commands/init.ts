import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { isPattern, parsePattern } from "../../../core/policy/parse-pattern.ts";
import type { Alternative } from "../../../core/policy/pattern.ts";
import { renderPattern } from "../../../core/policy/render-pattern.ts";
import { rulePatternsFor } from "../../../core/policy/rule-pattern.ts";
import { isOperationRoute } from "../../audit/operations.ts";
import { escapeUnits } from "../../escape.ts";
import { loadApplication } from "../application.ts";
import { type Command, UsageError } from "../command.ts";

const ROUTES_MISSING =
  "init needs the routes of an application: write --app ./app.js, and export `app` or `routes` from this file.";

const HEADING = [
  "The routes of the application. Decide each line, and then remove the slashes before it. Until then,",
  "scopegate refuses requests to that route, unless a wider line that you have decided covers it. The scopes are",
  'guesses: write those of your tokens, "public", or [] for any valid token.',
];

export const init: Command = {
  name: "init",
  summary: "Print a table with a line for each route of an application, for you to decide.",
  words: [],
  options: { app: { value: "MODULE", text: "exports `app` or `routes`" } },
  examples: [["--app ./app.js > policy.mjs", "Writes the first table of an application."]],
  async run(input) {
    const [routes] = await input.all(async () => {
      const module = input.text("app");
      const application = module === undefined ? undefined : await loadApplication(module);
      if (!application?.routes) throw new UsageError(ROUTES_MISSING);
      return application.routes;
    });
    const lines = [...new Set(routes.filter(needsRule).flatMap(linesFor))];
    const text = [
      ...HEADING.map((line) => `// ${line}`),
      "export const scopeMappings = {",
      ...lines.map((line) => `  // ${escapeAll(line)}`),
      "};",
    ].join("\n");
    return { data: { lines }, text: `${text}\n`, isFile: true };
  },
};

/** A rule for `GET` also decides `HEAD`, and CORS middleware responds to `OPTIONS`. */
const needsRule = ({ method, serves }: ListedRoute): boolean =>
  serves === undefined && method !== "HEAD" && method !== "OPTIONS";

/** A line break in a pattern would end the comment, and what follows would be code. */
const escapeAll = (line: string): string => line.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeUnits);

/** Returns a line for each rule that a route needs, or why no rule can be for it. */
function linesFor(route: ListedRoute): readonly string[] {
  const { method, pattern } = route;
  if (isOperationRoute(route))
    return pattern.endsWith("*")
      ? [`${method} ${pattern} can't be named: its rule would match other operations too.`]
      : [lineFor(method, pattern, lastWordOf(pattern), "call")];
  const parsed = parsePattern(pattern);
  if (!isPattern(parsed)) return [`${method} ${pattern} ${parsed.message}`];
  const action = method === "GET" ? "read" : "write";
  const paths = rulePatternsFor(parsed.alternatives.map(({ segments }) => segments));
  const ofRoute = new Set(parsed.alternatives.map(withoutSlash));
  return paths.map((path) => {
    const line = lineFor(method, path, path.replaceAll(/[{}]/g, "").split("/").slice(1), action);
    const rule = parsePattern(path);
    const isWider = !isPattern(rule) || rule.alternatives.some((each) => !ofRoute.has(withoutSlash(each)));
    return isWider ? `${line} // matches other paths than ${pattern} too` : line;
  });
}

const withoutSlash = (alternative: Alternative): string => renderPattern({ ...alternative, hasSlash: false });

/** The name of an operation, such as `search` of `tools/call search`, or its method. */
const lastWordOf = (operation: string): readonly string[] => operation.split(/[ /]/).slice(-1);

/** What doesn't name a resource. */
const PREFIX = /^(?:api|v\d+)$/;
const TEXT = /^[a-z][\w-]*$/i;
const PARAMETER = /^:(\w+)$/;
const PROBE = /^\/(?:health|healthz|livez|readyz)$/;

/**
 * Guesses a scope: the first text of a path is the resource, and a parameter behind it is its id. Without a
 * text, the first segment can be the id.
 */
function lineFor(method: string, path: string, segments: readonly string[], action: string): string {
  const key = JSON.stringify(`${method} ${path}`);
  if (PROBE.test(path)) return `${key}: "public",`;
  const index = segments.findIndex((segment) => TEXT.test(segment) && !PREFIX.test(segment));
  const resource = segments[index]?.toLowerCase() ?? "resource";
  const [, id] = PARAMETER.exec(segments[index + 1] ?? "") ?? [];
  const scope = id === undefined ? `${resource}:${action}` : `${resource}:<${id}>:${action}`;
  return `${key}: [${JSON.stringify(scope)}],`;
}
