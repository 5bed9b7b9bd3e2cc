/** What calls leave behind on the heap. Only for the project `memory`, where no other test keeps anything. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Returns the bytes that are in use. */
export function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Returns the bytes that many calls leave behind, after a few calls that fill caches of code. */
export async function leftBy(calls: number, call: (index: number) => unknown): Promise<number> {
  for (let index = 0; index < 50; index += 1) await call(-1 - index);
  const before = heapBytes();
  for (let index = 0; index < calls; index += 1) await call(index);
  return heapBytes() - before;
}

/** What the test runner itself may allocate meanwhile. */
export const LIMIT = 5 * 1024 * 1024;

/** Returns a text as a string from a socket: strings that are joined in JavaScript share their parts. */
export const received = (text: string): string => Buffer.from(text).toString();
