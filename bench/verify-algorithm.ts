/** Measures the tokens of one algorithm, for `verify.ts`: each contestant runs in its own process, because a service uses one library. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { compareBy, type Measured } from "./compare.ts";
import { hear } from "./own-process.ts";
import type { Algorithm } from "./tokens.ts";
import type { ContestantOrder } from "./verify-contestant.ts";
import { CACHED, CHECK_CACHED, CHECK_FIRST, FIRST, JOSE, PEERS } from "./verify-names.ts";

/** Verifications at once, as in a server: then WebCrypto doesn't wake a thread for each. */
const IN_FLIGHT = 64;

const QUICK = { count: 7, us: 15_000, warmUpUs: 150_000 };
const CHECK = { count: 21, us: 50_000, warmUpUs: 600_000 };
const FULL = { count: 15, us: 40_000, warmUpUs: 1_000_000 };

export interface MeasuredAlgorithm {
  readonly algorithm: Algorithm;
  readonly tokenBytes: number;
  /** `IN_FLIGHT` verifications at once. */
  readonly together: readonly Measured[];
  /** One verification at a time; only in a full run. */
  readonly alone: readonly Measured[];
}

interface Running {
  readonly name: string;
  readonly child: ChildProcess;
  /** 0 if the library doesn't have the algorithm. */
  readonly tokenBytes: number;
}

export async function measureAlgorithm(
  algorithm: Algorithm,
  { quick, check }: { readonly quick: boolean; readonly check: boolean },
): Promise<MeasuredAlgorithm> {
  const names = [FIRST, CACHED, CHECK_FIRST, CHECK_CACHED, JOSE, ...(check ? [] : PEERS)];
  const rounds = quick ? QUICK : check ? CHECK : FULL;
  const { tokenBytes, measured } = await measure(names, algorithm, IN_FLIGHT, rounds);
  // Waking a thread is a large part of this cost and varies with the load of the machine.
  const alone = quick || check ? [] : (await measure([FIRST, JOSE], algorithm, 1, rounds)).measured;
  return { algorithm, tokenBytes, together: measured, alone };
}

async function measure(
  names: readonly string[],
  algorithm: Algorithm,
  atOnce: number,
  rounds: typeof FULL,
): Promise<{ readonly tokenBytes: number; readonly measured: readonly Measured[] }> {
  const started: Running[] = [];
  for (const name of names) started.push(await start({ algorithm, name, atOnce }));
  const running = started.filter(({ tokenBytes }) => tokenBytes > 0);
  try {
    return {
      tokenBytes: running[0]?.tokenBytes ?? 0,
      measured: await compareBy(({ child }, calls) => ask(child, calls), running, rounds),
    };
  } finally {
    for (const { child } of started) child.disconnect();
  }
}

async function start(order: ContestantOrder): Promise<Running> {
  const program = fileURLToPath(new URL("verify-contestant.ts", import.meta.url));
  const child = fork(program, [JSON.stringify(order)]);
  return { name: order.name, child, tokenBytes: await hear<number>(child) };
}

function ask(child: ChildProcess, calls: number): Promise<number> {
  child.send(calls);
  return hear<number>(child);
}
