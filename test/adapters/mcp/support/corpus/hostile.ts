/** How the corpus writes a request that must not run a tool, or only what its caller may run. */
import type { Raw } from "../send.ts";
import type { User } from "../tools.ts";

/** Who sends it. */
export type Sender = User | "anonymous" | "expired" | "wrong audience" | "another issuer" | "unsigned";

export interface Hostile extends Raw {
  readonly name: string;
  /** The statuses that every host may answer with: one, where scopegate decides. */
  readonly status: readonly number[];
  /** Default: `runner`, who may call `search` and `run_agent web`. */
  readonly sender?: Sender;
}

type More = Omit<Hostile, "name" | "status" | "body">;

/** A request with a JSON body, or with these bytes. */
export const post = (
  name: string,
  status: number | readonly number[],
  body: object | string | Buffer,
  more: More = {},
): Hostile => ({
  name,
  status: [status].flat(),
  body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  ...more,
});

/** A call of a tool. */
export const call = (name: unknown, args?: unknown, more: object = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, ...(args !== undefined && { arguments: args }) },
  ...more,
});

/** A call that the sender may make. */
export const ALLOWED = call("search", { q: "x" });
/** Calls that no sender may make. */
export const FORBIDDEN = call("run_agent", { agent_id: "api" });
export const WITHOUT_RULE = call("remove_agent", { agent_id: "web" });

/** What the official SDK makes of a message that calls nothing. */
export const HARMLESS = [200, 202, 400] as const;
