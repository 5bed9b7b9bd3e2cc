/**
 * Shows where the time of a request in process goes: the share of scopegate, and of its functions.
 *
 *     npm run bench:profile -- fastify scopegate
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLoads } from "./servers/loads.ts";
import type { Order } from "./servers/serve.ts";
import { compileServers } from "./servers/server-process.ts";
import { AUDIENCE, createSigner, ISSUER } from "./tokens.ts";

const REQUESTS = 200_000;
const SHOWN = 12;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

async function record(framework: string, variant: string, folder: string): Promise<Profile> {
  await compileServers();
  const signer = createSigner("RS256", "JWT");
  const issuer = { publicKey: signer.text, issuer: ISSUER, audience: AUDIENCE };
  const program = fileURLToPath(new URL(`.build/servers/${framework}.mjs`, import.meta.url));
  const execArgv = [
    "--min-semi-space-size=16",
    "--cpu-prof",
    "--cpu-prof-interval=200",
    `--cpu-prof-dir=${folder}`,
  ];
  const child = fork(program, [variant, JSON.stringify(issuer)], {
    execArgv,
    env: { NODE_ENV: "production" },
  });
  await once(child, "message");
  for (const tokens of createLoads(signer, { quick: true }).map((load) => load.tokens)) {
    child.send({ tokens, requests: REQUESTS } satisfies Order);
    await once(child, "message");
  }
  child.disconnect();
  await once(child, "exit");
  const [file = ""] = readdirSync(folder);
  return JSON.parse(readFileSync(join(folder, file), "utf8")) as Profile;
}

/** Native functions and those of Node.js count for the function that calls them. */
const isNative = ({ callFrame: { url } }: ProfileNode): boolean =>
  url === "" || url.startsWith("node:internal/crypto");

/** Adds up the time of each function of the built package, and of everything else, in percent. */
function sharesOf({ nodes, samples, timeDeltas }: Profile): ReadonlyMap<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callers = new Map(
    nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)),
  );
  const total = timeDeltas.reduce((sum, delta) => sum + delta, 0);
  const shares = new Map<string, number>();
  const dist = new URL("../dist/", import.meta.url).href;
  for (const [index, id] of samples.entries()) {
    let node = byId.get(id);
    const isCollector = node?.callFrame.functionName === "(garbage collector)";
    while (node && !isCollector && isNative(node)) node = callers.get(node.id);
    const isOurs = node?.callFrame.url.startsWith(dist) === true;
    const name = isCollector ? "garbage collection" : isOurs ? (node?.callFrame.functionName ?? "") : OTHERS;
    shares.set(name, (shares.get(name) ?? 0) + ((timeDeltas[index] ?? 0) / total) * 100);
  }
  return shares;
}

const OTHERS = "Node.js, the framework and the client";

const [framework = "fastify", variant = "scopegate"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "profile-"));
try {
  const shares = sharesOf(await record(framework, variant, folder));
  const lines = [...shares].toSorted(([, a], [, b]) => b - a);
  for (const [name, share] of lines.slice(0, SHOWN))
    console.log(`${share.toFixed(1).padStart(5)} %  ${name}`);
  const rest = lines.slice(SHOWN).reduce((sum, [, share]) => sum + share, 0);
  console.log(`${rest.toFixed(1).padStart(5)} %  ${lines.length - SHOWN} other functions of scopegate`);
} finally {
  rmSync(folder, { recursive: true });
}
