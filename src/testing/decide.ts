import { type Decision } from "../policy/decision.ts";
import { type ResourceServer } from "../resource-server.ts";
import { audienceOf } from "../token/issuers.ts";
import {
  hasToken,
  type IssuedCaller,
  type ScopedCaller,
  type TestCaller,
  type TokenCaller,
} from "./caller.ts";

/** One request without its credential. */
export interface Asked {
  readonly method: string;
  readonly target: string;
}

/** How a server decides a request of a caller. */
export async function decide(server: ResourceServer, asked: Asked, caller: TestCaller): Promise<Decision> {
  if (caller === "anonymous") return server.check(asked);
  return hasToken(caller) ? decideByToken(server, asked, caller) : decideByTable(server, asked, caller);
}

async function decideByToken(
  server: ResourceServer,
  asked: Asked,
  caller: TokenCaller | IssuedCaller,
): Promise<Decision> {
  const token = typeof caller.token === "string" ? caller.token : await caller.token();
  const { cookie } = caller;
  const credential =
    cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie: `${cookie}=${token}` };
  const decision = await server.check({ ...asked, ...credential });
  if ("isGood" in caller && caller.isGood) requireAccepted(decision, server);
  return decision;
}

/** As if a token with these scopes had been accepted. */
function decideByTable(server: ResourceServer, { method, target }: Asked, caller: ScopedCaller): Decision {
  const { scopes, userId = "user-1", sessionId, claims = {} } = caller;
  const { decision } = server.explain({ method, path: target, scopes });
  if (!decision.principal) return decision;
  // No credential is read there, so that nobody is known.
  if (decision.rule?.requirement === "public") return server.explain({ method, path: target }).decision;
  const named = {
    userId,
    ...(sessionId !== undefined && { sessionId }),
    claims: Object.freeze({ ...claims }),
  };
  return server.authorize(Object.freeze({ ...decision.principal, ...named }), method, target);
}

/**
 * A test of refusals would pass for the wrong reason where the server knows nothing of the issuer: then nobody is ever
 * let in.
 */
function requireAccepted(decision: Decision, server: ResourceServer): void {
  if (decision.allowed) return;
  const { reason, rejection = "", claim = "" } = decision;
  if (reason === "credential_missing") {
    throw new Error(
      'The server reads no token from the `Authorization` header. Send it as its `tokenSources` say: { ...issuer.caller({ scopes }), cookie: "access_token" }.',
    );
  }
  if (reason !== "token_rejected" || rejection === "revoked" || rejection === "too_large") return;
  throw new Error(
    `The server rejects a good token of this issuer: ${rejection} ${claim}`.trimEnd() +
      `. ${rejection === "audience" ? audienceFix(server) : (FIXES[rejection] ?? TRUST)} To see how it decides all the same, check { token: await issuer.token() }.`,
  );
}

const TRUST =
  "Construct the server with `...issuer.resourceServerOptions` behind its other options, where it wins over them, and after `issuer.rotate()`.";
const CLOCK = "Give the issuer and the server the same clock, as `now`.";

/** The audience to give is the server's own. */
function audienceFix(server: ResourceServer): string {
  const [first = "...", ...others] = audienceOf(server);
  const audience = JSON.stringify(others.length === 0 ? first : [first, ...others]);
  return `Give the issuer the audience of the server: createTestIssuer({ audience: ${audience} }).`;
}

const FIXES: Readonly<Record<string, string>> = {
  expired: CLOCK,
  not_yet_valid: CLOCK,
  claims:
    "Tell the issuer what the server reads: `scopesClaim`, `userIdClaim` and `sessionIdClaim`, or other `claims`.",
  type: "Give the issuer a `tokenType` that the server accepts.",
};
