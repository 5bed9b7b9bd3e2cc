import type { Benchmark } from "./benchmark.ts";
import { dpop } from "./dpop.ts";
import { footprint } from "./footprint.ts";
import { hostile } from "./hostile.ts";
import { mcp } from "./mcp.ts";
import { memory } from "./memory.ts";
import { requests } from "./requests.ts";
import { revocation } from "./revocation.ts";
import { routes } from "./routes.ts";
import { servers } from "./servers.ts";
import { verify } from "./verify.ts";

/** All benchmarks, in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [
  verify,
  routes,
  hostile,
  requests,
  servers,
  mcp,
  dpop,
  revocation,
  memory,
  footprint,
];
