/** Receives the security events of an issuer (RFC 8417, RFC 8935), and revokes tokens. */
import { KeysUnavailableError, type Rejection, TokenRejectedError } from "../../core/errors.ts";
import type { Algorithm } from "../../core/keys/algorithm.ts";
import type { Keys } from "../../core/keys/key-source.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { anyString, anyValue, callback, type OptionChecks } from "../../core/options/option-checks.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { createResourceServer } from "../../core/server.ts";
import { isObject, type Json } from "../../core/runtime/json.ts";
import { notify } from "../../core/runtime/notify.ts";
import { pipelineOf } from "../../core/port.ts";
import { readSubject } from "./subject.ts";

/** The options of `securityEvents`. */
export interface SecurityEventsOptions {
  /** The `iss` of the events, which identifies the transmitter. */
  readonly issuer: string;
  /** Where the keys of the transmitter come from, as in the option `keys` of a server. */
  readonly keys: Keys;
  /** The expected `aud` of the events. */
  readonly audience: string | readonly string[];
  /** The accepted algorithms of its signatures. Default: `["RS256"]`. */
  readonly algorithms?: readonly Algorithm[];
  /** The `iss` of the tokens that it may revoke. Default: `issuer`. */
  readonly tokenIssuer?: string;
  /** Called with the type and the subject of each accepted event that revokes nothing. */
  readonly onOtherEvent?: (event: { readonly type: string; readonly subject: unknown }) => void;
}

/** The response of the route to the transmitter. */
export interface SecurityEventsResponse {
  /** 202 if the event is accepted, 400 if it isn't, 503 if it must be delivered again. */
  readonly status: 202 | 400 | 503;
  /** The names and values of the header fields to send. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON for 400, otherwise empty. */
  readonly body: string;
}

/** `createResourceServer` checks `issuer`, `keys`, `audience` and `algorithms`. */
const OPTIONS: OptionChecks<SecurityEventsOptions> = {
  issuer: anyValue,
  keys: anyValue,
  audience: anyValue,
  algorithms: anyValue,
  tokenIssuer: anyString,
  onOtherEvent: callback("Write a function that takes the type and the subject of an event."),
};

const CAEP = "https://schemas.openid.net/secevent/caep/event-type/";
const SESSION_REVOKED = `${CAEP}session-revoked`;
const CREDENTIAL_CHANGE = `${CAEP}credential-change`;
const VERIFICATION = "https://schemas.openid.net/secevent/ssf/event-type/verification";

/** Transmitters retry an event for hours at most. An older event may be replayed by an attacker. */
const MAX_AGE_SECONDS = 3 * 86_400;

const ACCEPTED: SecurityEventsResponse = { status: 202, headers: { "Cache-Control": "no-store" }, body: "" };

/** RFC 8935 section 2.3. */
const rejectEvent = (err: string, description: string): SecurityEventsResponse => ({
  status: 400,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store", "Content-Language": "en" },
  body: JSON.stringify({ err, description }),
});

/** RFC 8935 section 2.4. */
const ERRORS: Partial<Readonly<Record<Rejection, string>>> = {
  issuer: "invalid_issuer",
  audience: "invalid_audience",
  key: "invalid_key",
  algorithm: "invalid_key",
  signature: "authentication_failed",
};

/**
 * Creates the function for a route to which an issuer pushes security event tokens (RFC 8935). It takes the
 * body of the request as a string, and returns the response. A CAEP `session-revoked` event, and a
 * `credential-change` other than `create`, revoke the session (`opaque`), user (`iss_sub`) or token
 * (`jwt_id`) that they name, also in `aliases` and `complex` subjects (RFC 9493). The status is 202; 400 with
 * an error of RFC 8935 for an event that can't be verified or applied, and for anything but a string; 503 if
 * the keys or the store are unavailable. It never throws because of a body. `server.close()` also stops its
 * work.
 *
 * The signature of an event proves who sent it, so the route can be `"public"`. The function doesn't read the
 * request: limit the size of the body where you read it. An event has a few kilobytes at most.
 *
 * @throws TypeError for anything but a resource server with the option `revocation`
 * @throws ConfigurationError for wrong options
 * @example
 * ```ts
 * import express from "express";
 * import { createResourceServer } from "scopegate";
 * import { protect } from "scopegate/express";
 * import { remoteKeys } from "scopegate/keys";
 * import { inMemoryRevocation, securityEvents } from "scopegate/revocation";
 *
 * const issuer = "https://login.example/";
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   issuer,
 *   keys: remoteKeys({ discovery: true }),
 *   scopeMappings: { "POST /events": "public" },
 *   revocation: inMemoryRevocation(),
 * });
 * const receive = securityEvents(server, { issuer, keys: remoteKeys({ discovery: true }), audience: "agents-prod" });
 * const app = express().use(protect(server));
 * app.post("/events", express.text({ type: "application/secevent+jwt", limit: "64kb" }), async (req, res) => {
 *   const { status, headers, body } = await receive(req.body);
 *   res.status(status).set(headers).send(body);
 * });
 * ```
 */
export function securityEvents(
  server: ResourceServer,
  options: SecurityEventsOptions,
): (body: unknown) => Promise<SecurityEventsResponse> {
  assertRevocation(server);
  checkOptions("securityEvents", options, OPTIONS);
  const { issuer, keys, audience, algorithms = ["RS256"], tokenIssuer = issuer } = options;
  // A separate server: no event is accepted as an access token, and no access token as an event.
  const verifier = createResourceServer({
    issuer,
    keys,
    audience,
    algorithms,
    tokenTypes: ["secevent+jwt"],
    requiredClaims: ["iat", "jti", "events"],
    authorization: false,
    maxTokenAgeSeconds: MAX_AGE_SECONDS,
    clockToleranceSeconds: 60,
    tokenCache: false,
  });

  pipelineOf(server).onClose(() => void verifier.close());

  const applyEvents = async (claims: Json): Promise<SecurityEventsResponse> => {
    const { iat, jti, events, sub_id: sharedSubject } = claims;
    if (!isObject(events)) return rejectEvent("invalid_request", "The claim events must be an object.");
    for (const [type, event] of Object.entries(events)) {
      const payload = { ...(event as object) } as Json;
      const subject = payload["subject"] ?? sharedSubject;
      if (type === VERIFICATION) continue;
      if (!isRevoking(type, payload)) {
        if (options.onOtherEvent) notify(options.onOtherEvent, { type, subject });
        continue;
      }
      // The time of the event counts, not its arrival: an event that is delivered again must not revoke newer
      // tokens.
      const before = new Date(timeOf(payload["event_timestamp"], iat) * 1000);
      const targets = readSubject(subject, { issuer: tokenIssuer, before });
      if (targets.length === 0)
        return rejectEvent("invalid_request", "No token can be identified by the subject of the event.");
      const reason = `${type.slice(CAEP.length)} ${String(jti)}`;
      for (const target of targets) await server.revoke(target, { reason });
    }
    return ACCEPTED;
  };

  return async (body) => {
    // Without a parser for the content type of events, frameworks pass an object or `undefined`.
    if (typeof body !== "string")
      return rejectEvent("invalid_request", "The body must be a security event token.");
    try {
      const { claims } = await verifier.authenticate(body.trim());
      return await applyEvents(claims);
    } catch (error) {
      if (error instanceof TokenRejectedError)
        return rejectEvent(ERRORS[error.rejection] ?? "invalid_request", "The event is not accepted.");
      // A mistake in the program, such as an invalid store.
      if (error instanceof RangeError || error instanceof TypeError) throw error;
      const retryAfter = error instanceof KeysUnavailableError ? "5" : "1";
      return { status: 503, headers: { "Retry-After": retryAfter }, body: "" };
    }
  };
}

/** Returns whether an event ends access. Adding a credential doesn't. */
const isRevoking = (type: string, { change_type: change }: Json): boolean =>
  type === SESSION_REVOKED || (type === CREDENTIAL_CHANGE && change !== "create");

/** Fails when the service starts, if the server can't revoke anything. */
function assertRevocation(server: ResourceServer): void {
  if ((Object(server) as Partial<ResourceServer>).health?.().revocation) return;
  throw new TypeError(
    "securityEvents needs a server with the option `revocation`: inMemoryRevocation() or sharedRevocation(store).",
  );
}

/**
 * Returns when the event happened, but at most when it was signed: a later time would revoke later tokens.
 */
function timeOf(time: unknown, iat: unknown): number {
  const latest = Math.min(Number(iat), Date.now() / 1000);
  return Math.max(0, typeof time === "number" ? Math.min(time, latest) : latest);
}
