/** Tools that would check nothing must not compile. */
import { createResourceServer, type Principal } from "scopegate";
import { audit, routesOf } from "scopegate/audit";
import { decisionLog } from "scopegate/decision-log";
import { checkDocument, fromDocument, toSecurity } from "scopegate/openapi";
import { page } from "scopegate/page";
import { accessMatrix, check, createTestIssuer, withPrincipal } from "scopegate/testing";

declare const principal: Principal;
const server = createResourceServer({});
const issuer = createTestIssuer();

// @ts-expect-error -- without routes, there is nothing to compare
audit(server);
// @ts-expect-error -- routes of the application come second
audit(routesOf({}), server);
// @ts-expect-error -- an application is not its routes: write routesOf(app)
audit(server, {});
// @ts-expect-error -- a misspelt option would have no effect
audit(server, [], { publicCatchAlls: ["GET /{*path}"] });

// @ts-expect-error -- a misspelt option would have no effect
page(server, { titel: "Policy" });
// @ts-expect-error -- a role has several scopes
page(server, { roles: { reader: "agents:read" } });

// @ts-expect-error -- shares of allowed and refused decisions are different
decisionLog(() => undefined, { sample: 0.5 });
// @ts-expect-error -- ids of users are hashed, plain or absent
decisionLog(() => undefined, { subject: "encrypted" });

// @ts-expect-error -- a text must be parsed: write parseDocument(text)
fromDocument("openapi: 3.1.0");
// @ts-expect-error -- the document comes first
checkDocument(server, {});
// @ts-expect-error -- operations without security are never left out
toSecurity({}, server, { missingSecurity: "ignore" });

// @ts-expect-error -- method and path are one argument
void check(server, "GET", "/agents");
// @ts-expect-error -- scopes are an array
void check(server, "GET /agents", { scopes: "agents:read" });
// @ts-expect-error -- a promise has no decision
if (check(server, "GET /agents").allowed) console.log("allowed");
// @ts-expect-error -- an issuer signs its tokens
createTestIssuer({ algorithm: "none" });
// @ts-expect-error -- the name of the option is `scopes`
void issuer.token({ scope: ["agents:read"] });
// @ts-expect-error -- a server knows what is revoked, a token does not
void issuer.token({ rejectedAs: "revoked" });
// @ts-expect-error -- a token is a promise
void check(server, "GET /agents", { token: issuer.token() });
// @ts-expect-error -- callers have names
void accessMatrix(server, { callers: ["anonymous"] });
// @ts-expect-error -- a caller is the second argument
withPrincipal(principal);
