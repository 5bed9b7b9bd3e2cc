/**
 * The ECMAScript module of a project with both module systems. It shares values and types with `parts.cts`.
 */
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { ConfigurationError, createResourceServer, hasScopes, type Principal } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import parts from "./parts.cjs";

const server = createResourceServer({
  serviceId: "strangers",
  verificationKeys: ["s".repeat(32)],
  algorithm: "HS256",
  scopeMappings: { "GET /health": "public" },
});
const request = new IncomingMessage(new Socket());
const caller: Principal | undefined = parts.principalOf(request);
const guards: readonly (typeof protect)[] = [protect, parts.protect];
console.log(
  parts.nameOf(caller),
  parts.nameOf(principalOf(request)),
  parts.countRules(server) > 0,
  guards.map((guard) => typeof guard(server)).join(),
);
console.log(parts.ConfigurationError === ConfigurationError, parts.hasScopes === hasScopes);
