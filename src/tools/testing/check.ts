import type { SenderConstraintOptions } from "../../capabilities/sender-constraint/index.ts";
import { explain } from "../../capabilities/explain/index.ts";
import { optionError } from "../../core/options/option-checks.ts";
import { suggest } from "../../core/errors.ts";
import type { Decision } from "../../core/policy/decision.ts";
import { splitOperation } from "../../capabilities/mcp-operations/operation-key.ts";
import { ANY_METHODS } from "../../capabilities/mcp-operations/operation-methods.ts";
import { findMethodMistake } from "../../core/policy/route-key.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { compact } from "../../core/runtime/compact.ts";
import { issuersOf } from "../shared/issuers.ts";
import {
  type IssuedCaller,
  principalOf,
  requireCaller,
  type ScopedCaller,
  type TestCaller,
} from "./caller.ts";

/** A request without its credential. */
export interface TestRequest {
  readonly method: string;
  readonly target: string;
  /** The arguments of an operation of MCP. */
  readonly params?: Readonly<Record<string, string>>;
}

/**
 * Decides a request `"METHOD /path"` without HTTP, or an operation such as `"MCP tools/call search"`, with
 * `params` as arguments. A refusal is returned, not thrown.
 *
 * With `{ scopes }`, only the scope table decides: the server can have any keys, and `isRevoked` and
 * `onDecision` aren't called. With `issuer.caller({ scopes })` or `{ token }`, the server verifies the token.
 * The path isn't normalized, and nothing that a framework does before the guard has an effect.
 *
 * @throws ConfigurationError for an invalid route, an unknown option, and scopes that grant nothing
 * @throws Error for scopes on a path without a rule, and if the server rejects a valid token of a test issuer
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
  params?: Readonly<Record<string, string>>,
): Promise<Decision> {
  const request = { ...readRoute("check", route), ...compact({ params }) };
  requireCaller("check", caller);
  const decision = await decide(server, request, caller);
  const hasScopes = typeof caller === "object" && "scopes" in caller && caller.scopes.length > 0;
  if (!decision.allowed && decision.reason === "route_unmapped" && hasScopes) {
    // A test that expects a refusal for these scopes would pass with any scopes.
    const keys = server.routes.map(({ key }) => key);
    throw new Error(
      `No rule of the server covers \`${route}\`, so scopes have no effect. ` +
        `${suggest(route, keys, "See `server.routes`.")} To test that it's denied, check it without scopes.`,
    );
  }
  return decision;
}

/** @throws ConfigurationError unless the route is a method and a path */
export function readRoute(call: string, route: string): TestRequest {
  const wrong = (message: string, hint: string) =>
    optionError([call, "route"], message, hint, "route_key_invalid");
  if (route.startsWith(`${OPERATION_METHOD} `)) {
    const text = route.slice(OPERATION_METHOD.length + 1);
    const { method, name } = splitOperation(text);
    const mistake = ANY_METHODS.findMistake(method, name);
    if (mistake) throw wrong(mistake.message, mistake.hint);
    return { method: OPERATION_METHOD, target: text };
  }
  const [method, target, ...more] = route.split(" ");
  if (method === undefined || !target?.startsWith("/") || more.length > 0) {
    const hint = "Write `METHOD /path`, such as `GET /agents/web`.";
    throw wrong(`${JSON.stringify(route)} isn't a request.`, hint);
  }
  if (/\/[:*]|[{}]/.test(target)) {
    const path = target.replaceAll(/[{}]/g, "").replaceAll(/[:*]\w+/g, "1");
    throw wrong(`\`${route}\` is a pattern.`, `Write a path: \`${method} ${path}\`.`);
  }
  const unknown = findMethodMistake(method, target);
  if (unknown) throw wrong(unknown.message, unknown.hint);
  if (method === "*") throw wrong("`*` isn't a method.", `Write one: \`GET ${target}\`.`);
  return { method, target };
}

export async function decide(
  server: ResourceServer,
  request: TestRequest,
  caller: TestCaller,
): Promise<Decision> {
  if (caller === "anonymous") return server.check(request);
  if (!("token" in caller)) return decideByScopes(server, request, caller);
  const token = typeof caller.token === "string" ? caller.token : await caller.token();
  if ("proofFor" in caller && caller.proofFor)
    return decideWithProof(server, request, token, caller.proofFor);
  const { cookie } = caller;
  const credential =
    cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie: `${cookie}=${token}` };
  const decision = await server.check({ ...request, ...credential });
  if ("isGood" in caller && caller.isGood) requireAccepted(decision, server);
  return decision;
}

/** Sends a new proof, with the server's nonce if one is needed. An operation of MCP is sent by POST. */
async function decideWithProof(
  server: ResourceServer,
  request: TestRequest,
  token: string,
  proofFor: NonNullable<IssuedCaller["proofFor"]>,
): Promise<Decision> {
  const pipeline = pipelineOf(server);
  const { senderConstraint, keyProofs } = pipeline.rules;
  const { dpop } = (senderConstraint?.written ?? {}) as Partial<SenderConstraintOptions>;
  const [origin = "https://service.test"] = dpop?.origins ?? [];
  const isOperation = request.method === OPERATION_METHOD;
  const method = isOperation ? "POST" : request.method;
  const target = isOperation ? "/" : request.target;
  const nonce = keyProofs?.refusalHeaders?.()["DPoP-Nonce"];
  const proof = await proofFor({ method, url: origin + target, token, ...compact({ nonce }) });
  const asked = { ...request, authorization: `DPoP ${token}`, headers: { dpop: proof } };
  return (await pipeline.decide(asked, false, { ...asked, method, target })).decision();
}

/** Decides as if a token with these scopes had been accepted. */
function decideByScopes(
  server: ResourceServer,
  { method, target, params }: TestRequest,
  caller: ScopedCaller,
): Decision {
  const principal = principalOf(server, caller);
  const { claims } = principal;
  const { scopes, tenant } = caller;
  const query = { method, path: target, params, scopes, claims, ...compact({ tenant }) };
  const { decision } = explain(server, query);
  if (!decision.principal || method === OPERATION_METHOD) return decision;
  // A public route has no principal, because the server reads no credential there.
  if (decision.rule?.requirement === "public") return explain(server, { method, path: target }).decision;
  return server.authorize(principal, method, target);
}

/** If the server rejected every token of the issuer, a test that expects a refusal would wrongly pass. */
function requireAccepted(decision: Decision, server: ResourceServer): void {
  if (decision.allowed) return;
  const { reason, rejection = "", claim = "" } = decision;
  if (reason === "credential_missing")
    throw new Error(
      'The server doesn\'t read the `Authorization` header. Send the token in a cookie of `tokenSources`: { ...issuer.caller({ scopes }), cookie: "access_token" }.',
    );
  if (reason !== "token_rejected" || rejection === "revoked" || rejection === "too_large") return;
  throw new Error(
    `The server rejects a valid token of this issuer: ${rejection} ${claim}`.trimEnd() +
      `. ${fixFor(rejection, claim, server)} To test the rejection, check { token: await issuer.token() }.`,
  );
}

function fixFor(rejection: string, claim: string, server: ResourceServer): string {
  switch (rejection) {
    case "audience": {
      const accepted = issuersOf(server).flatMap(({ token }) => token.audience ?? []);
      const [first = "...", ...others] = new Set(accepted);
      const audience = JSON.stringify(others.length === 0 ? first : [first, ...others]);
      return `Give the issuer the audience of the server: createTestIssuer({ audience: ${audience} }).`;
    }
    case "claims":
      return claim === "jti"
        ? 'Give the caller a `tokenId`: issuer.caller({ tokenId: "token-1" }).'
        : "Give the issuer the same `scopesClaim`, `userIdClaim` and `sessionIdClaim` as the server, or add the claim to `claims` of the issuer or the caller.";
    case "expired":
    case "not_yet_valid":
      return "Give the issuer and the server the same clock as `now`.";
    case "type":
      return "Give the issuer a `tokenType` that the server accepts.";
    default:
      return "Create the server after `issuer.rotate()`, with `...issuer.resourceServerOptions` after its other options.";
  }
}
