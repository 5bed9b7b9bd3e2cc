import type { Ran } from "./oracle.ts";

/** The header that identifies the request a handler ran for. */
export const PROBE_HEADER = "x-probe";

type Params = Readonly<Record<string, unknown>> | readonly unknown[];

/** Records which handlers ran for each request. */
export class Recorder {
  readonly #ran = new Map<string, Ran[]>();

  record(probe: unknown, handler: string, method: string, params: Params): void {
    const list = this.#ran.get(String(probe)) ?? [];
    this.#ran.set(String(probe), list);
    list.push({ handler, method, params: readParams(handler, params) });
  }

  /** Removes and returns the handler calls of a request, in order. */
  take(probe: string): readonly Ran[] {
    const list = this.#ran.get(probe) ?? [];
    this.#ran.delete(probe);
    return list;
  }
}

/** Wildcards have no name in Express 4 and Fastify, and are arrays in Express 5. */
function readParams(handler: string, params: Params): Ran["params"] {
  const entries = Object.entries(params).map(([name, value]): [string, string] => [
    name,
    Array.isArray(value) ? value.join("/") : typeof value === "string" ? value : "",
  ]);
  const seen = Object.fromEntries(entries);
  const wildcard = /\*(\w+)/.exec(handler)?.[1];
  const rest = seen["*"] ?? seen["0"];
  return wildcard !== undefined && rest !== undefined ? { [wildcard]: rest, ...seen } : seen;
}
