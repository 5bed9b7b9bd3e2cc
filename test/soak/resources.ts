/** Samples the heap and the sockets of the process every second, and reports growth. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { printTable } from "../support/table.ts";

interface Sample {
  readonly heap: number;
  readonly sockets: number;
}

interface Span {
  readonly first: number;
  readonly last: number;
}

const SECOND_MS = 1_000;
/** These first samples are ignored, while frameworks and compiled code load. */
const WARM_UP_SAMPLES = 6;
const MB = 1024 * 1024;
const HEAP_GROWTH = 0.1;
const HEAP_GROWTH_BYTES = 4 * MB;
/**
 * A fetch that is in progress during a sample has two sockets, because the issuer runs in the same process.
 */
const SOCKET_GROWTH = 6;

export class ResourceWatch {
  readonly #samples: Sample[] = [];
  readonly #delay = monitorEventLoopDelay();
  readonly #timer = setInterval(() => this.#take(), SECOND_MS);

  constructor() {
    this.#delay.enable();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#delay.disable();
  }

  /** The medians of the first and the last quarter, in bytes. */
  #heap(): Span {
    return this.#span(({ heap }) => heap);
  }

  #sockets(): Span {
    return this.#span(({ sockets }) => sockets);
  }

  /** The maximum delay of the event loop. */
  lateMs(): number {
    return Math.round(this.#delay.max / 1e6);
  }

  print(): void {
    const heap = this.#heap();
    const sockets = this.#sockets();
    printTable(
      ["medians", "first quarter", "last quarter"],
      ["heap", inMb(heap.first), inMb(heap.last)],
      ["sockets", sockets.first, sockets.last],
    );
  }

  *failures(): Generator<string> {
    const heap = this.#heap();
    const sockets = this.#sockets();
    if (Number.isNaN(heap.first)) yield "the run is too short to detect growth";
    const growth = heap.last - heap.first;
    if (growth > HEAP_GROWTH_BYTES && growth > heap.first * HEAP_GROWTH)
      yield `the heap grows from ${inMb(heap.first)} to ${inMb(heap.last)}`;
    if (sockets.last - sockets.first > SOCKET_GROWTH)
      yield `sockets grow from ${sockets.first} to ${sockets.last}`;
  }

  #take(): void {
    globalThis.gc?.();
    this.#samples.push({
      heap: process.memoryUsage().heapUsed,
      sockets: process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length,
    });
  }

  #span(of: (sample: Sample) => number): Span {
    const values = this.#samples.slice(WARM_UP_SAMPLES).map(of);
    const quarter = Math.ceil(values.length / 4);
    return { first: median(values.slice(0, quarter)), last: median(values.slice(-quarter)) };
  }
}

const inMb = (bytes: number): string => `${(bytes / MB).toFixed(1)} MB`;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
