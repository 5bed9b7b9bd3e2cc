/** A route for clients that revoke tokens (RFC 7009). */
import { createHandler, type RouteHandler } from "../../adapters/shared/handler.ts";
import { assertRevocation } from "./assert-revocation.ts";
import { KeysUnavailableError, TokenRejectedError } from "../../core/errors.ts";
import { refuse as refuseRequest } from "../../core/policy/decision.ts";
import { type ResourceServer } from "../../core/server.ts";
import { type Answer } from "../../core/response/refusal.ts";
import { owned } from "../../core/token/owned.ts";
import { type Principal } from "../../core/token/principal.ts";
import { fingerprintOf } from "../../core/token/revocation.ts";
import { readText } from "./body-text.ts";

/** The options of `revocationEndpoint`. */
export interface RevocationEndpointOptions {
  /**
   * A scope that allows a caller to revoke the tokens of every user. Without it, and without the admin scope,
   * callers can only revoke their own tokens. Default: only the admin scope.
   */
  readonly all?: string;
}

const HEADERS = { "Cache-Control": "no-store" };
const DONE: Answer = { status: 200, headers: HEADERS, body: "" };

/** RFC 6749 section 5.2. */
const refuse = (status: number, error: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "Content-Type": "application/json", ...HEADERS, ...headers },
  body: { error },
});

/**
 * Creates the handler of a route that revokes the token of a form (`token=...`) with `server.revoke`. It
 * answers 200 without a body, also for a token that is not valid (RFC 7009 section 2.2); 400 for a form
 * without a token, for the token of another user, and for a token that never expires; 503 if the store does
 * not confirm the revocation.
 *
 * The table protects it like any other route: `"POST /revoke": []`. If its rule lets a caller without a token
 * pass, the handler answers 401. It throws without `protect` in front. Fastify needs a parser for forms, such
 * as `@fastify/formbody`.
 *
 * @throws TypeError for anything but a resource server with the option `revocation`
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { protect } from "scopegate/express";
 * import { inMemoryRevocation, revocationEndpoint } from "scopegate/revocation";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "POST /revoke": [] },
 *   revocation: inMemoryRevocation(),
 * });
 * const app = express().use(protect(server));
 * app.post("/revoke", revocationEndpoint(server, { all: "tokens:revoke" }));
 * ```
 */
export function revocationEndpoint(
  server: ResourceServer,
  options: RevocationEndpointOptions = {},
): RouteHandler<Promise<Response>> {
  assertRevocation(server, "revocationEndpoint");
  return createHandler(server, "revocationEndpoint", async ({ verdict, body }) => {
    const caller = verdict.principal;
    // The rule is public or optional. An exception would end a server of Node.js that does not catch it.
    if (!caller) return server.refuse(refuseRequest("credential_missing"));
    const token = readToken(await readText(body));
    if (token === undefined) return refuse(400, "invalid_request");
    try {
      const principal = await server.authenticate(token);
      if (!mayRevoke(caller, principal, options)) return refuse(400, "unauthorized_client");
      await server.revoke({ token });
      return DONE;
    } catch (error) {
      // A token that is not accepted needs no revocation.
      if (error instanceof TokenRejectedError) return DONE;
      // The token never expires, or later than revocations are kept (RFC 7009 section 2.2.1).
      if (error instanceof RangeError) return refuse(400, "unsupported_token_type");
      if (error instanceof TypeError) throw error;
      const retryAfter = error instanceof KeysUnavailableError ? "5" : "1";
      return refuse(503, "temporarily_unavailable", { "Retry-After": retryAfter });
    }
  });
}

function mayRevoke(caller: Principal, principal: Principal, options: RevocationEndpointOptions): boolean {
  const { kind } = owned(caller, options);
  if (kind === "all") return true;
  // A token without a user, such as that of a service, can be revoked with itself.
  return kind === "owner"
    ? caller.userId === principal.userId && caller.issuer === principal.issuer
    : fingerprintOf(caller) === fingerprintOf(principal);
}

/** Reads the `token` of a form. Rejects two tokens, because another server could read the other one. */
function readToken(form: string | Readonly<Record<string, unknown>> | undefined): string | undefined {
  if (form === undefined) return undefined;
  const tokens: readonly unknown[] =
    typeof form === "string"
      ? new URLSearchParams(form).getAll("token")
      : Object.hasOwn(form, "token")
        ? [form["token"]]
        : [];
  const [token] = tokens;
  return tokens.length === 1 && typeof token === "string" && token !== "" ? token : undefined;
}
