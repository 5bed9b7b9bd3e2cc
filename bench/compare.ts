/**
 * Compares the CPU time per call of several contestants. Every round measures each of them, so that other programs on the
 * machine slow all of them alike. All threads of the process count, including WebCrypto and the garbage collector.
 */
import type { Row } from "./benchmark.ts";

export interface Contestant {
  readonly name: string;
  readonly run: (calls: number) => void | Promise<void>;
  readonly note?: string;
}

export interface Rounds {
  readonly count: number;
  /** CPU time of one round of one contestant, in microseconds. */
  readonly us: number;
  /** CPU time before the first round, in microseconds: V8 optimizes a function only after many calls. */
  readonly warmUpUs: number;
}

/** Microseconds per call, one sample per round. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly number[];
  readonly note?: string | undefined;
}

/** Creates a contestant from a synchronous function. `call` is the number of the call. */
export const contestant = (name: string, once: (call: number) => unknown, note?: string): Contestant => ({
  name,
  run: (calls) => {
    for (let call = 0; call < calls; call += 1) once(call);
  },
  ...(note !== undefined && { note }),
});

/** Creates a contestant from an asynchronous function. `atOnce` calls run concurrently. */
export const awaited = (
  name: string,
  once: (call: number) => Promise<unknown>,
  { atOnce = 1, note }: { readonly atOnce?: number; readonly note?: string } = {},
): Contestant => ({
  name,
  run: async (calls) => {
    if (atOnce === 1) {
      for (let call = 0; call < calls; call += 1) await once(call);
      return;
    }
    for (let call = 0; call < calls; call += atOnce)
      await Promise.all(Array.from({ length: Math.min(atOnce, calls - call) }, (_, own) => once(call + own)));
  },
  ...(note !== undefined && { note }),
});

/** Returns the CPU time of some calls of a contestant, in microseconds. */
export type CpuTime<One> = (contestant: One, calls: number) => Promise<number>;

/** Warms up all contestants, then measures them in interleaved rounds. */
export const compare = (contestants: readonly Contestant[], rounds: Rounds): Promise<readonly Measured[]> =>
  compareBy(cpuTime, contestants, rounds);

/** Does the same for contestants that `cpuTimeOf` measures elsewhere, such as in processes of their own. */
export async function compareBy<One extends Pick<Contestant, "name" | "note">>(
  cpuTimeOf: CpuTime<One>,
  contestants: readonly One[],
  rounds: Rounds,
): Promise<readonly Measured[]> {
  const calls = new Map<One, number>();
  for (const one of contestants)
    calls.set(one, await callsPerRound((count) => cpuTimeOf(one, count), rounds));
  const samples = await interleave(contestants, rounds.count, async (one) => {
    const count = calls.get(one) ?? 1;
    return (await cpuTimeOf(one, count)) / count;
  });
  return contestants.map(({ name, note }, index) => ({ name, note, samples: samples[index] ?? [] }));
}

/** Measures every contestant once per round. Returns the samples of each contestant. */
export async function interleave<One>(
  contestants: readonly One[],
  rounds: number,
  measure: (contestant: One) => Promise<number>,
): Promise<readonly (readonly number[])[]> {
  const samples = contestants.map((one) => ({ one, own: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) {
    // Another contestant goes first in each round, and every second round is reversed: the order favors none.
    const first = round % samples.length;
    const order = [...samples.slice(first), ...samples.slice(0, first)];
    for (const { one, own } of round % 2 === 0 ? order : order.toReversed()) own.push(await measure(one));
  }
  return samples.map(({ own }) => own);
}

/** Keeps the fastest fifth of the rounds: other programs on the machine only make a round slower. */
export const fastest = (name: string, samples: readonly number[]): Measured => ({
  name,
  samples: samples.toSorted((a, b) => a - b).slice(0, Math.ceil(samples.length / 5)),
});

async function callsPerRound(
  spend: (calls: number) => Promise<number>,
  { us, warmUpUs }: Rounds,
): Promise<number> {
  let calls = 1;
  let spent = 0;
  for (let total = 0; total < warmUpUs; total += spent) {
    if (spent < us / 2) calls *= 2;
    spent = await spend(calls);
  }
  return Math.max(1, Math.round((calls * us) / spent));
}

/** Measures this process. */
export async function cpuTime({ run }: Contestant, calls: number): Promise<number> {
  const before = process.cpuUsage();
  const running = run(calls);
  if (running) await running;
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Returns the value below which the given share of the samples lies. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
}

/** The mean of the two middle samples if their number is even. */
export function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] ?? Number.NaN) + (sorted[Math.ceil(half)] ?? Number.NaN)) / 2;
}

/** Returns the median of the ratios of all rounds. */
export const ratioOf = (one: Measured, other: Measured): number =>
  medianOf(one.samples.map((sample, round) => sample / (other.samples[round] ?? Number.NaN)));

export function findMeasured(measured: readonly Measured[], name: string): Measured {
  const found = measured.find((one) => one.name === name);
  if (!found) throw new Error(`There is no contestant \`${name}\`.`);
  return found;
}

/** Returns one row per contestant, each with its ratio to the reference. */
export function toRows(
  group: string,
  measured: readonly Measured[],
  reference: string,
  unit: "us" | "ns" = "us",
): readonly Row[] {
  const base = findMeasured(measured, reference);
  const scale = unit === "ns" ? 1000 : 1;
  return measured.map((one) => ({
    group,
    name: one.name,
    value: medianOf(one.samples) * scale,
    unit,
    low: quantile(one.samples, 0.25) * scale,
    high: quantile(one.samples, 0.75) * scale,
    ratio: ratioOf(one, base),
    ...(one.note !== undefined && { note: one.note }),
  }));
}
