/**
 * `npm run demo -- [express|koa|fastify|hono|fetch|nest] [--store redis://127.0.0.1:6379]`: sends every request
 * of the story, and revokes a token in a service that shares a store with another one. Exits with 1 if a
 * result is unexpected.
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import type { Decision } from "scopegate";
import { explain } from "scopegate/explain";
import { createTestIssuer } from "scopegate/testing";
import { loadConfiguration, shippedConfiguration } from "./configuration.ts";
import { renderDecision } from "./decision-log.ts";
import { openDevelopmentIssuer } from "./development-issuer.ts";
import { createPolicy } from "./policy.ts";
import { type Framework, FRAMEWORKS, startService } from "./service.ts";
import { openStore } from "./store.ts";
import { createStory, type Scene } from "./story.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { store: { type: "string" } } });
const [framework = "express"] = positionals;
if (!Object.hasOwn(FRAMEWORKS, framework))
  throw new TypeError("Usage: npm run demo -- [express|koa|fastify|hono|fetch|nest] [--store URL]");

/** The `iss` of the backend's tokens. */
const BACKEND = "https://backend.example";

const backend = openDevelopmentIssuer();
const { verificationKeys = [], algorithm = "RS256", ...options } = loadConfiguration(shippedConfiguration);
const audience = String(options.serviceId);

/** A control plane in memory, which serves its keys on 127.0.0.1. */
const controlPlane = createTestIssuer({ audience, tokenType: "at+jwt" });
const published = await controlPlane.listen({ asIssuer: true });

const store = await openStore(values.store);
let last: { readonly decision: Decision; readonly line: string } | undefined;
const issuers = [
  { issuer: BACKEND, verificationKeys, algorithms: [algorithm] },
  { ...controlPlane.trustedIssuer, keys: published.keys },
];
const defaultScopeMappings = createPolicy(issuers.map(({ issuer }) => issuer));
const service = await startService(
  framework as Framework,
  {
    ...options,
    issuers,
    defaultScopeMappings,
    revocation: store.revocation,
    onDecision: (decision, request) => (last = { decision, line: renderDecision(decision, request) }),
  },
  0,
);
const story = createStory({
  backend: (role, claims) => backend.token(role, audience, { iss: BACKEND, ...claims }),
  controlPlane: {
    issuer: controlPlane.issuer,
    token: () => controlPlane.token({ userId: "control-plane", scopes: ["teams:read"] }),
  },
});

let failures = 0;
for (const [index, scene] of story.entries()) {
  console.log(`\n${index + 1}. ${scene.title}`);
  if (!(await play(scene))) failures += 1;
}
console.log(`\n${story.length + 1}. A revoked token`);
if (!(await playRevocation())) failures += 1;
await service.close();
store.close();
await published.close();
console.log(failures === 0 ? "\nAll results are as expected." : `\n${failures} results are not as expected.`);
process.exitCode = failures === 0 ? 0 : 1;

/** Revokes a token in this service. With a shared store, another service refuses it as well. */
async function playRevocation(): Promise<boolean> {
  const other = values.store === undefined ? undefined : await openStore(values.store);
  const second =
    other &&
    (await startService(
      framework as Framework,
      { ...options, issuers, defaultScopeMappings, revocation: other.revocation },
      0,
    ));
  const token = await backend.token("runner", audience, { iss: BACKEND, jti: randomUUID() });
  const statusOf = async (url: string): Promise<number> => {
    const { status } = await fetch(`${url}/agents`, { headers: { authorization: `Bearer ${token}` } });
    return status;
  };
  const before = await statusOf((second ?? service).url);
  await service.server.revoke({ token }, { reason: "The demo revokes it." });
  const since = performance.now();
  const here = await statusOf(service.url);
  let there = here;
  if (second)
    do there = await statusOf(second.url);
    while (there !== 401 && performance.now() - since < 1000);
  console.log(`   GET /agents -> ${before}, after server.revoke -> ${here}`);
  if (second)
    console.log(
      `   another service that shares the store -> ${there} after ${Math.round(performance.now() - since)} ms`,
    );
  await second?.close();
  other?.close();
  return before === 200 && here === 401 && there === 401;
}

async function play({ method, path, token, body, status, reason, hasExpectedBody }: Scene): Promise<boolean> {
  const response = await fetch(service.url + path, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${await token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer: unknown = text === "" ? undefined : JSON.parse(text);
  const decided =
    last && !last.decision.allowed ? (last.decision.rejection ?? last.decision.reason) : "allowed";
  const isExpected = response.status === status && decided === reason && (hasExpectedBody?.(answer) ?? true);

  const expected = isExpected ? "" : ` (expected: ${status} ${reason})`;
  console.log(`   ${method} ${path} -> ${response.status}${expected}`);
  const challenge = response.headers.get("www-authenticate");
  if (challenge !== null) console.log(`   WWW-Authenticate: ${challenge}`);
  console.log(`   ${text.slice(0, 100)}`);
  if (last) console.log(indent(describe(last.decision, last.line, method, path)));
  return isExpected;
}

/**
 * Explains the decision for the scopes and claims of the caller. Without a valid token, it only returns the
 * log line.
 */
function describe({ principal, granted }: Decision, line: string, method: string, path: string): string {
  return principal
    ? explain(service.server, { method, path, scopes: granted, claims: principal.claims }).text
    : line;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "   | ");
}
