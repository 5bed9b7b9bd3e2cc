/** `npm start -- [express|koa|fastify|hono|fetch|nest] [--config FILE | --issuer URL [--audience AUD]] [--store URL] [--port N]` */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ConfigurationError, KeysUnavailableError } from "scopegate";
import { AuditError } from "scopegate/audit";
import {
  configurationFor,
  type DiscoveredIssuer,
  loadConfiguration,
  shippedConfiguration,
} from "./configuration.ts";
import { renderDecision } from "./decision-log.ts";
import { openDevelopmentIssuer, type Role, ROLES } from "./development-issuer.ts";
import { type Framework, FRAMEWORKS, startService } from "./service.ts";
import { openStore } from "./store.ts";

const USAGE =
  "Usage: npm start -- [express|koa|fastify|hono|fetch|nest] [--config FILE | --issuer URL [--audience AUD]] [--store URL] [--port N]";

interface Arguments {
  readonly framework: Framework;
  readonly config: string | undefined;
  readonly discovered: DiscoveredIssuer | undefined;
  readonly store: string | undefined;
  readonly port: number;
}

function readArguments(): Arguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      config: { type: "string" },
      issuer: { type: "string" },
      audience: { type: "string" },
      store: { type: "string" },
      port: { type: "string" },
    },
  });
  const [framework = "express", ...more] = positionals;
  const port = Number(values.port ?? 7777);
  if (!Object.hasOwn(FRAMEWORKS, framework) || more.length > 0)
    throw new TypeError(`Unknown arguments: ${positionals.join(" ")}`);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new TypeError("--port must be a number from 0 to 65535");
  const { config, issuer, audience, store } = values;
  if (issuer !== undefined && config !== undefined)
    throw new TypeError("--issuer cannot be combined with --config");
  if (issuer === undefined && audience !== undefined) throw new TypeError("--audience requires --issuer");
  const discovered = issuer === undefined ? undefined : { issuer, audience };
  return { framework: framework as Framework, config, discovered, store, port };
}

async function run({ framework, config, discovered, store, port }: Arguments): Promise<void> {
  // The private key of the development issuer is readable on disk, so it is only used with the shipped
  // configuration.
  const issuer = config === undefined && !discovered ? openDevelopmentIssuer() : undefined;
  const options = discovered
    ? configurationFor(discovered)
    : loadConfiguration(config === undefined ? shippedConfiguration : resolve(config));
  const { revocation, close } = await openStore(store);
  const service = await startService(
    framework,
    {
      ...options,
      revocation,
      onDecision: (decision, request) => console.log(renderDecision(decision, request)),
    },
    port,
  );
  stopOnSignal(() => service.close().finally(close));
  console.log(`The knowledge service listens on ${service.url} (${framework}).`);
  console.log(service.audit.ok ? `${service.audit.summary}.` : service.audit.text);
  if (discovered) console.log(`It accepts tokens of ${discovered.issuer} for ${String(options.audience)}.`);
  if (issuer) await printTokens(service.url, (role) => issuer.token(role, String(options.serviceId)));
}

async function printTokens(url: string, mint: (role: Role) => Promise<string>): Promise<void> {
  console.log("\nTokens of the development issuer, valid for an hour:\n");
  for (const role of Object.keys(ROLES) as Role[]) console.log(`${role.toUpperCase()}=${await mint(role)}\n`);
  console.log("Paste the lines above into your shell, then try:\n");
  for (const line of [
    `curl -i ${url}/health`,
    `curl -i ${url}/agents`,
    `curl -i -H "Authorization: Bearer $READER" ${url}/knowledge/config`,
    `curl -i -H "Authorization: Bearer $RUNNER" ${url}/agents`,
    `curl -i -H "Authorization: Bearer $RUNNER" --json '{"input":"hello"}' ${url}/agents/web/runs`,
    `curl -i -H "Authorization: Bearer $MEMBER" --json '{"name":"first"}' ${url}/sessions`,
    `curl -i -H "Authorization: Bearer $ADMIN" ${url}/teams/research`,
  ]) {
    console.log(`  ${line}`);
  }
  console.log("\nDecisions:");
}

function stopOnSignal(close: () => Promise<void>): void {
  const stop = () => {
    close().catch(fail);
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}

const USER_ERRORS = [AuditError, ConfigurationError, KeysUnavailableError, TypeError, SyntaxError];

function fail(error: unknown): void {
  const isUserError = USER_ERRORS.some((kind) => error instanceof kind);
  console.error(isUserError ? `${(error as Error).message}\n${USAGE}` : error);
  process.exitCode = 1;
}

try {
  await run(readArguments());
} catch (error) {
  fail(error);
}
