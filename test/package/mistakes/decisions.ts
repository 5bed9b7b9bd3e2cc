/** Decisions must be awaited and narrowed, and neither they nor principals and errors can be changed. */
import {
  ConfigurationError,
  createResourceServer,
  type Decision,
  type Principal,
  type Rule,
} from "scopegate";
import { revalidate } from "scopegate/connections";
import { explain } from "scopegate/explain";

declare const decision: Decision;
declare const principal: Principal;
declare const rule: Rule;
declare const error: ConfigurationError;
const server = createResourceServer({});
const request = { method: "GET", target: "/agents" };

// @ts-expect-error -- a promise is always true
if (server.check(request)) console.log("allowed");
// @ts-expect-error -- a promise has no decision
if (server.check(request).allowed) console.log("allowed");
// @ts-expect-error -- nor a principal
console.log(server.authenticate("a.b.c").scopes);
// @ts-expect-error -- nor a result of revalidation
if (revalidate(server, principal).valid) console.log("valid");

// @ts-expect-error -- an allowed decision is no refusal
server.refuse(decision);
// @ts-expect-error -- an allowed decision has no reason
console.log(decision.reason);
// @ts-expect-error -- there is no such reason
if (!decision.allowed && decision.reason === "token_expired") console.log("expired");
// @ts-expect-error -- a service may call without a user
const userId: string = principal.userId;
console.log(userId);
// @ts-expect-error -- a public route has no caller
const caller: Principal = decision.principal;
console.log(caller);

// @ts-expect-error -- decisions are read-only
decision.allowed = true;
// @ts-expect-error -- scopes of a caller are those of the token
principal.scopes.push("platform:admin");
// @ts-expect-error -- principals are read-only
principal.userId = "root";
// @ts-expect-error -- so are their claims
principal.claims = {};
// @ts-expect-error -- and each of them
principal.claims["sub"] = "root";
// @ts-expect-error -- rules are read-only
rule.requirement = "public";
// @ts-expect-error -- so is the table of a server
server.routes.push(rule);
// @ts-expect-error -- and a list of mistakes
error.issues.pop();

// @ts-expect-error -- `has` asks for one scope
principal.has(["agents:read"]);
// @ts-expect-error -- a resource and an action are two arguments
principal.resourceIds("agents:read");
// @ts-expect-error -- a claim is named in an object
principal.values("org_id");

// @ts-expect-error -- the request of a framework is not the request of `check`
void server.check({ method: "GET", url: "/agents" });
// @ts-expect-error -- a token is not a principal
server.authorize("a.b.c", "GET", "/agents");
// @ts-expect-error -- method and path are two arguments
server.authorize(principal, "GET /agents");
// @ts-expect-error -- `explain` takes a path
explain(server, { method: "GET", target: "/agents" });
// @ts-expect-error -- a string could be a token, a user or a session
void server.revoke("a.b.c");
// @ts-expect-error -- a user has a `userId`
void server.revoke({ user: "user-1" });
// @ts-expect-error -- a time is a date, not a number of seconds or milliseconds
void server.revoke({ userId: "user-1", before: 1_700_000_000 });
