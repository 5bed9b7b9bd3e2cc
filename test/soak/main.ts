/**
 * Load while the issuer rotates its keys and goes down and up: every valid token is answered 200, or 503 once the outage
 * has lasted too long, every other one 401, and neither sockets nor heap grow. Exits with 1 where anything else happened.
 *
 *     npm run test:soak               two minutes
 *     npm run test:soak -- 30         or SOAK_SECONDS=30; one cycle of the issuer's life at least
 */
import { openOpenIdProvider } from "../support/openid-provider.ts";
import { IssuerHistory } from "./history.ts";
import { CYCLE_SECONDS, IssuerLife } from "./issuer-life.ts";
import { KeyEvents } from "./key-events.ts";
import { startLoad } from "./load.ts";
import { Mix } from "./mix.ts";
import { printReport } from "./report.ts";
import { ResourceWatch } from "./resources.ts";
import { openServices } from "./services.ts";
import { Tally } from "./tally.ts";
import { SLACK_MS, TIMES } from "./times.ts";

const KID = "key-1";
const EXIT_LIMIT_MS = 5_000;

const wanted = Number(process.argv[2] ?? process.env["SOAK_SECONDS"] ?? 120);
if (!(wanted > 0)) throw new TypeError("Write how many seconds it shall take.");
const cycles = Math.max(1, Math.round(wanted / CYCLE_SECONDS));
if (!globalThis.gc) throw new Error("Run it with --expose-gc: garbage would pass for growth.");
console.log(`${cycles} x ${CYCLE_SECONDS} s`);

const provider = await openOpenIdProvider({ kid: KID });
const history = new IssuerHistory();
const events = new KeyEvents();
const mix = new Mix();
const life = new IssuerLife(provider, KID, history, mix);
await life.begin();
const services = await openServices(provider.issuer, (service, event) => events.add(service, event));
const tally = new Tally(
  history,
  services.map(({ name }) => name),
);
const resources = new ResourceWatch();
const load = startLoad(services, mix, (answered) => tally.add(answered));

for (let cycle = 0; cycle < cycles; cycle += 1) await life.cycle();

resources.stop();
await load.stop();
const seconds = (Date.now() - history.startedAt) / 1_000;
// Each service may ask once per cooldown, and once more for each beginning.
const perService = Math.ceil(history.upMs() / TIMES.cooldownMs) + history.outages.length + 1;
const fetchLimit = perService * services.length;
const fetches = provider.asked("/jwks");
for (const service of services) await service.close();
await provider.close();

printReport({ seconds, tally, resources, events, fetches, fetchLimit });
const failures = [
  ...tally.failures(),
  ...resources.failures(),
  ...(fetches > fetchLimit ? [`${fetches} fetches of the keys, and ${fetchLimit} at most are due`] : []),
];
for (const line of [...tally.firstViolations, ...failures]) console.error(line);
const late = resources.lateMs().max;
if (failures.length > 0 && late > SLACK_MS)
  console.error(
    `The event loop was late by ${late} ms: the windows allow for ${SLACK_MS}. Is the machine busy?`,
  );
process.exitCode = failures.length > 0 ? 1 : 0;

setTimeout(() => {
  console.error(`The process does not end: ${process.getActiveResourcesInfo().join(", ")}`);
  process.exit(1);
}, EXIT_LIMIT_MS).unref();
