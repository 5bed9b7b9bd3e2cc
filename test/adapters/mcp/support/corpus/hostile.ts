/** How the corpus writes a request that must not run a tool, or only what its caller may run. */
import type { Colleague } from "../company.ts";
import type { Raw } from "../send.ts";
import type { User } from "../tools.ts";

/** Who sends it. */
export type Sender =
  User | Colleague | "anonymous" | "expired" | "wrong audience" | "another issuer" | "unsigned";

export interface Hostile extends Raw {
  readonly name: string;
  /** The statuses that every host may answer with: one, where scopegate decides. */
  readonly status: readonly number[];
  /** Default: `runner`, who may call `search` and `run_agent web`. */
  readonly sender?: Sender;
  /** Whether some hosts may run it, if the caller is allowed to. */
  readonly mayRun?: boolean;
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

/** A message with a method and its parameters. */
export const message = (method: string, params: object = {}, id = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

/** What a host may answer when the official SDK decides about a message that the caller may send. */
export const HANDLED = [200, 202, 400, 403, 404] as const;

/** A request to the company that may run, if its caller is allowed to do what the SDK runs. */
export const probe = (name: string, sender: Colleague, body: object | string, more: More = {}): Hostile => ({
  ...post(name, HANDLED, body, { ...more, sender }),
  mayRun: true,
});

/** A request to the company that must not run, for a caller with some scopes. */
export const refusal = (
  name: string,
  status: number | readonly number[],
  body: object | string,
  more: More = {},
): Hostile => post(name, status, body, { sender: "clerk", ...more });

/** A call that the sender may make. */
export const ALLOWED = call("search", { q: "x" });
/** Calls that no sender may make. */
export const FORBIDDEN = call("run_agent", { agent_id: "api" });
export const WITHOUT_RULE = call("remove_agent", { agent_id: "web" });

/** What the official SDK makes of a message that calls nothing. */
export const HARMLESS = [200, 202, 400] as const;
