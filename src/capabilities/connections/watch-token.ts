import { notify } from "../../core/runtime/notify.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Principal } from "../../core/token/principal.ts";
import { type EndReason, revalidate, type Revalidation } from "./revalidate.ts";

interface Watch {
  /** Without it, only `exp` is checked. */
  readonly server: ResourceServer | undefined;
  readonly checkEverySeconds: number;
  readonly onEnd: (reason: EndReason) => unknown;
}

/** With a longer time, Node.js fires the timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `onEnd` once, when a token is no longer valid, unless the returned function is called before. */
export function watchToken(principal: Principal, { server, checkEverySeconds, onEnd }: Watch): () => void {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const check = async (): Promise<void> => {
    const result = await checkToken(principal, server);
    if (isOver) return;
    if (!result.valid) {
      isOver = true;
      notify(onEnd, result.reason);
      return;
    }
    const waitMs = Math.min(result.expiresInMs, server ? checkEverySeconds * 1000 : Infinity, MAX_TIMER_MS);
    timer = setTimeout(() => void check(), waitMs).unref();
  };
  void check();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** A check that fails ends the connection: a token that can't be checked counts as refused. */
async function checkToken(principal: Principal, server: ResourceServer | undefined): Promise<Revalidation> {
  try {
    if (server) return await revalidate(server, principal);
    const expiresInMs = (principal.expiresAt ?? Infinity) * 1000 - Date.now();
    return expiresInMs > 0 ? { valid: true, expiresInMs } : { valid: false, reason: "expired" };
  } catch {
    return { valid: false, reason: "unavailable" };
  }
}
