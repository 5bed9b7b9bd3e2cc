/**
 * `npm run demo -- [express|koa|fastify|hono|fetch|nest]`: sends every request of the story. Exits with 1 if a result is
 * unexpected.
 */
import { type Decision } from "scopegate";
import { createTestIssuer } from "scopegate/testing";
import { loadConfiguration, shippedConfiguration } from "./configuration.ts";
import { renderDecision } from "./decision-log.ts";
import { openDevelopmentIssuer } from "./development-issuer.ts";
import { type Framework, FRAMEWORKS, startService } from "./service.ts";
import { createStory, type Scene } from "./story.ts";

const [framework = "express"] = process.argv.slice(2);
if (!Object.hasOwn(FRAMEWORKS, framework))
  throw new TypeError("Usage: npm run demo -- [express|koa|fastify|hono|fetch|nest]");

/** The `iss` of the backend's tokens. */
const BACKEND = "https://backend.example";

const backend = openDevelopmentIssuer();
const { verificationKeys = [], algorithm = "RS256", ...options } = loadConfiguration(shippedConfiguration);
const audience = String(options.serviceId);

/** A control plane in memory, which serves its keys on 127.0.0.1. */
const controlPlane = createTestIssuer({ audience, tokenType: "at+jwt" });
const published = await controlPlane.listen({ asIssuer: true });

let last: { readonly decision: Decision; readonly line: string } | undefined;
const service = await startService(
  framework as Framework,
  {
    ...options,
    issuers: [
      { issuer: BACKEND, keys: { verificationKeys }, algorithms: [algorithm] },
      { ...controlPlane.trustedIssuer, keys: published.keys },
    ],
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
await service.close();
await published.close();
console.log(failures === 0 ? "\nAll results are as expected." : `\n${failures} results are not as expected.`);
process.exitCode = failures === 0 ? 0 : 1;

async function play({ method, path, token, body, status, reason, hasExpectedBody }: Scene): Promise<boolean> {
  const response = await fetch(service.url + path, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${await token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  const decided =
    last && !last.decision.allowed ? (last.decision.rejection ?? last.decision.reason) : "allowed";
  const isExpected = response.status === status && decided === reason && (hasExpectedBody?.(answer) ?? true);

  const expected = isExpected ? "" : ` (expected: ${status} ${reason})`;
  console.log(`   ${method} ${path} -> ${response.status}${expected}`);
  const challenge = response.headers.get("www-authenticate");
  if (challenge !== null) console.log(`   WWW-Authenticate: ${challenge}`);
  console.log(`   ${JSON.stringify(answer).slice(0, 100)}`);
  if (last) console.log(indent(explain(last.decision, last.line, method, path)));
  return isExpected;
}

/**
 * Explains the decision for the scopes of the caller. Without a valid token, it only returns the log line.
 */
function explain({ principal, granted }: Decision, line: string, method: string, path: string): string {
  return principal ? service.server.explain({ method, path, scopes: granted }).text : line;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "   | ");
}
