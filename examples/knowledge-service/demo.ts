/** `npm run demo -- [express|koa|fastify]`: the whole story on a real port; exits 0 only if all came out as told. */
import { type Decision } from "scopegate";
import { loadConfiguration, shippedConfiguration } from "./configuration.ts";
import { renderDecision } from "./decision-log.ts";
import { openDevelopmentIssuer } from "./development-issuer.ts";
import { type Framework, FRAMEWORKS, startService } from "./service.ts";
import { createStory, type Scene } from "./story.ts";

const [framework = "express"] = process.argv.slice(2);
if (!Object.hasOwn(FRAMEWORKS, framework))
  throw new TypeError("Usage: npm run demo -- [express|koa|fastify]");

const options = loadOptions();
let last: { readonly decision: Decision; readonly line: string } | undefined;
const service = await startService(
  framework as Framework,
  {
    ...options,
    onDecision: (decision, request) => (last = { decision, line: renderDecision(decision, request) }),
  },
  0,
);
const { mint, audience } = { mint: openDevelopmentIssuer().token, audience: String(options.serviceId) };

let failures = 0;
for (const [index, scene] of createStory((role, claims) => mint(role, audience, claims)).entries()) {
  console.log(`\n${index + 1}. ${scene.title}`);
  if (!(await play(scene))) failures += 1;
}
await service.close();
console.log(failures === 0 ? "\nAll came out as told." : `\n${failures} scenes came out otherwise.`);
process.exitCode = failures === 0 ? 0 : 1;

function loadOptions() {
  openDevelopmentIssuer();
  return loadConfiguration(shippedConfiguration);
}

async function play({ method, path, token, body, status, reason, tells }: Scene): Promise<boolean> {
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
  const isAsTold = response.status === status && decided === reason && (tells?.(answer) ?? true);

  console.log(`   ${method} ${path} -> ${response.status}${isAsTold ? "" : ` (told: ${status} ${reason})`}`);
  const challenge = response.headers.get("www-authenticate");
  if (challenge !== null) console.log(`   WWW-Authenticate: ${challenge}`);
  console.log(`   ${JSON.stringify(answer).slice(0, 100)}`);
  if (last) console.log(indent(explain(last.decision, last.line, method, path)));
  return isAsTold;
}

/** What the table says of a caller with these scopes; a token that was not accepted has none. */
function explain({ principal, granted }: Decision, line: string, method: string, path: string): string {
  return principal ? service.server.explain({ method, path, scopes: granted }).text : line;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "   | ");
}
