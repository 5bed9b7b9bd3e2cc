import { type Benchmark } from "./benchmark.ts";
import { footprint } from "./footprint.ts";
import { hostile } from "./hostile.ts";
import { memory } from "./memory.ts";
import { routes } from "./routes.ts";
import { servers } from "./servers.ts";
import { verify } from "./verify.ts";

/** All benchmarks, in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [verify, routes, hostile, servers, memory, footprint];
