/**
 * Sends requests while the issuer rotates its keys and has outages. Valid tokens must get 200, or 503 once an
 * outage has lasted too long. Other tokens must get 401. Sockets and heap must not grow. Exits with 1 on any
 * violation.
 *
 *     npm run test:soak               two minutes
 *     npm run test:soak -- 30         or SOAK_SECONDS=30; runs at least one cycle
 */
import { openOpenIdProvider } from "../support/openid-provider.ts";
import { IssuerHistory } from "./expected.ts";
import { CYCLE_SECONDS, IssuerLife } from "./issuer-life.ts";
import { startLoad } from "./load.ts";
import { ResourceWatch } from "./resources.ts";
import { openServices } from "./services.ts";
import { Tally } from "./tally.ts";
import { SLACK_MS, TIMES } from "./times.ts";
import { Mix } from "./tokens.ts";

const KID = "key-1";
const EXIT_LIMIT_MS = 5_000;

const wanted = Number(process.argv[2] ?? process.env["SOAK_SECONDS"] ?? 120);
if (!(wanted > 0)) throw new TypeError("The duration must be a positive number of seconds.");
const cycles = Math.max(1, Math.round(wanted / CYCLE_SECONDS));
if (!globalThis.gc) throw new Error("Run with --expose-gc. Otherwise garbage counts as heap growth.");
console.log(`${cycles} x ${CYCLE_SECONDS} s`);

const provider = await openOpenIdProvider({ kid: KID });
const history = new IssuerHistory();
const mix = new Mix();
const life = new IssuerLife(provider, KID, history, mix);
await life.begin();
const services = await openServices(provider.issuer);
const tally = new Tally(
  history,
  services.map(({ name }) => name),
);
const resources = new ResourceWatch();
const stopLoad = startLoad(services, mix, (answered) => tally.add(answered));

for (let cycle = 0; cycle < cycles; cycle += 1) await life.cycle();

resources.stop();
await stopLoad();
// Each service may fetch once per cooldown, and once more at its start and after each outage.
const perService = Math.ceil(history.upMs() / TIMES.cooldownMs) + history.outages.length + 1;
const fetchLimit = perService * services.length;
const fetches = provider.asked("/jwks");
for (const service of services) await service.close();
await provider.close();

tally.print();
resources.print();
const failures = [...tally.failures(), ...resources.failures()];
if (fetches > fetchLimit)
  failures.push(`the keys were fetched ${fetches} times, at most ${fetchLimit} are allowed`);
for (const line of [...tally.firstViolations, ...failures]) console.error(line);
const late = resources.lateMs();
if (failures.length > 0 && late > SLACK_MS)
  console.error(
    `The event loop was late by ${late} ms, but the windows allow ${SLACK_MS} ms. Is the machine busy?`,
  );
process.exitCode = failures.length > 0 ? 1 : 0;

setTimeout(() => {
  console.error(
    `The process does not exit. Active resources: ${process.getActiveResourcesInfo().join(", ")}`,
  );
  process.exit(1);
}, EXIT_LIMIT_MS).unref();
