/** The ECMAScript half of a project of both kinds: what one half makes the other takes, types included. */
import { ConfigurationError, createResourceServer, hasScopes, type Principal } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import parts from "./parts.cjs";

const server = createResourceServer({
  serviceId: "strangers",
  verificationKeys: ["s".repeat(32)],
  algorithm: "HS256",
});
const caller: Principal | undefined = parts.principalOf({});
const guards: readonly (typeof protect)[] = [protect, parts.protect];
console.log(
  parts.nameOf(caller),
  parts.nameOf(principalOf({})),
  parts.countRules(server) > 0,
  guards.map((guard) => typeof guard(server)).join(),
);
console.log(parts.ConfigurationError === ConfigurationError, parts.hasScopes === hasScopes);
