import { suggest } from "../errors.ts";
import { type Decision } from "../policy/decision.ts";
import { findMethodMistake } from "../policy/route-key.ts";
import { type ResourceServer } from "../resource-server.ts";
import { requireCaller, scopesOf, type TestCaller } from "./caller.ts";
import { type Asked, decide } from "./decide.ts";
import { mistake } from "./mistakes.ts";

/**
 * Decides one request without HTTP: `"METHOD /path"`, of `"anonymous"` unless a caller is given. A refusal is a value.
 *
 * With `{ scopes }` the table decides: nothing is signed, `isRevoked` and `onDecision` are not asked, and the server may
 * have any keys. With `issuer.caller({ scopes })` or `{ token }` the request goes through the whole pipeline. The path is
 * read as it is spelled; what a framework does before the guard is not seen.
 *
 * @throws ConfigurationError for a route that is no `METHOD /path`, an unknown option, and scopes that grant nothing
 * @throws Error for scopes on a path that no rule covers, and where a server rejects a good token of a test issuer
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { check, createTestIssuer } from "scopegate/testing";
 *
 * const issuer = createTestIssuer({ audience: "agents-prod" });
 * const server = createResourceServer({ ...issuer.resourceServerOptions });
 *
 * console.log((await check(server, "GET /agents/web", { scopes: ["agents:web:read"] })).allowed); // true
 * console.log((await check(server, "GET /agents/web", issuer.caller({ rejectedAs: "expired" }))).allowed); // false
 * ```
 */
export async function check(
  server: ResourceServer,
  route: string,
  caller: TestCaller = "anonymous",
): Promise<Decision> {
  const asked = readRoute("check", route);
  requireCaller("check", caller);
  const decision = await decide(server, asked, caller);
  const isUnmapped = !decision.allowed && decision.reason === "route_unmapped";
  if (isUnmapped && scopesOf(caller).length > 0) throw unmapped(server, route);
  return decision;
}

/** @throws ConfigurationError for anything but one request */
export function readRoute(call: string, route: string): Asked {
  const wrong = (message: string, hint: string) =>
    mistake([call, "route"], message, hint, "route_key_invalid");
  const [method, target, ...more] = route.split(" ");
  if (method === undefined || !target?.startsWith("/") || more.length > 0) {
    throw wrong(
      `${JSON.stringify(route)} is no request.`,
      "Write `METHOD /path`, such as `GET /agents/web`.",
    );
  }
  if (/\/[:*]|[{}]/.test(target)) {
    const path = target.replaceAll(/[{}]/g, "").replaceAll(/[:*]\w+/g, "1");
    throw wrong(`\`${route}\` is a pattern.`, `Write a path: \`${method} ${path}\`.`);
  }
  const unknown = findMethodMistake(method, target);
  if (unknown) throw wrong(unknown.message, unknown.hint);
  if (method === "*") throw wrong("`*` is no method.", `Write one: \`GET ${target}\`.`);
  return { method, target };
}

/** Nobody is let in there: a test that its scopes are refused would say nothing of them. */
function unmapped(server: ResourceServer, route: string): Error {
  const known = server.routes.map(({ key }) => key);
  const fix = suggest(route, known, "`server.routes` has the table.");
  return new Error(
    `No rule of the server covers \`${route}\`, whatever the scopes. ${fix} To see that it is denied, check it without scopes.`,
  );
}
