/** The options of `protectMcp` and `withMcp`. */
import { checkOptions, type OptionCheck } from "../../core/options/check-options.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Store } from "../../core/runtime/store.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { BodyLimits } from "./body.ts";
import { requireRules } from "./rules.ts";

/** The options of `protectMcp`. */
export interface McpOptions extends Partial<BodyLimits> {
  /**
   * Removes what the caller may not call from the lists of tools, prompts and resources. Most servers don't
   * need this: a client can't request the scope of a tool that it doesn't see. Default: `false`.
   */
  readonly listFilter?: boolean;
  /**
   * Where the owners of sessions and tasks are kept for a week, so that several processes share them:
   * `redisStore(client)` of `scopegate/store`. Default: this process, which drops the least recently used.
   */
  readonly store?: Store;
  /**
   * How many owners of sessions this process keeps, and how many owners of tasks. One caller can have a tenth
   * of each. Default: `10_000`.
   */
  readonly maxSessions?: number;
  /**
   * How often an open stream of events is checked, in seconds: it ends when its token has expired or is
   * revoked. `false` never ends a stream. Default: `10`.
   */
  readonly streamCheckSeconds?: number | false;
}

const DEFAULTS = {
  maxBodyBytes: 4_194_304,
  bodyTimeoutMs: 30_000,
  listFilter: false,
  store: undefined,
  maxSessions: 10_000,
  streamCheckSeconds: 10,
} satisfies Record<keyof McpOptions, unknown>;

const wholeNumber: OptionCheck = {
  accepts: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  hint: "Write a whole number, 1 or more.",
};
const CHECKS: Readonly<Record<keyof McpOptions, OptionCheck>> = {
  maxBodyBytes: wholeNumber,
  bodyTimeoutMs: wholeNumber,
  listFilter: { accepts: (value) => typeof value === "boolean", hint: "Write true or false." },
  maxSessions: wholeNumber,
  streamCheckSeconds: {
    accepts: (seconds) => seconds === false || (typeof seconds === "number" && seconds > 0),
    hint: "Write a number of seconds greater than 0, or false.",
  },
  store: {
    accepts: (store) =>
      ["get", "set", "delete"].every((name) => typeof Reflect.get(Object(store), name) === "function"),
    hint: "Write a store, such as redisStore(client) of scopegate/store.",
    rejectsUndefined: true,
  },
};
const METADATA =
  "Put metadata(server) of your adapter before it, and write the option `resource` of createResourceServer.";

/**
 * Adds the defaults. The path of each mistake starts with the name of the function.
 * @throws ConfigurationError that lists every mistake, and without the option `mcp`
 */
export function resolveOptions(server: ResourceServer, options: McpOptions, functionName: string) {
  checkOptions(functionName, options, CHECKS, { metadata: METADATA });
  const { maxBodyBytes, bodyTimeoutMs, ...others } = { ...DEFAULTS, ...compact(options) };
  const rules = requireRules(server, functionName);
  return { ...others, rules, limits: { maxBodyBytes, bodyTimeoutMs } };
}

/** What a gate needs to know, checked. */
export type GateSettings = ReturnType<typeof resolveOptions>;
