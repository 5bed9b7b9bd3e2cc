import * as z from "zod/mini";
import { createCapability } from "../../core/create-capability.ts";
import * as values from "../../core/options/values.ts";
import type { McpOperations } from "../../core/policy/key-language.ts";
import { createLanguage } from "./language.ts";
import { type ExtensionMethods, isExtensionMethod, OperationMethods } from "./operation-methods.ts";

export type { McpOperations } from "../../core/policy/key-language.ts";

/** Facts about the MCP server behind `protectMcp`. */
export interface McpOperationsOptions {
  /**
   * The methods that your MCP server adds to the protocol, so that the table can have rules for them. Each
   * value is the parameter of the message that names what is called, or `null` if there is none:
   * `{ "skills/list": null, "x-vendor/run": "name" }` is for the keys `MCP skills/list` and
   * `MCP x-vendor/run deploy`. Methods that aren't declared are refused. Default: none.
   */
  readonly methods?: ExtensionMethods;
}

const METHODS =
  'Write methods that the protocol lacks, each with the parameter that names what it calls, or null: { "skills/list": null }.';
const methodName = z.string().check(z.refine(isExtensionMethod, { error: METHODS }));
const names = {
  methods: z.exactOptional(z.record(methodName, z.nullable(values.text(METHODS)), { error: METHODS })),
};
const shape = values.plain(z.strictObject(names), 'Write { methods: { "skills/list": null } }.');

/**
 * Creates the value of the option `mcp`: the table can then have rules for operations, such as
 * `MCP tools/call search`, which `protectMcp` checks.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { mcpOperations } from "scopegate/mcp";
 *
 * const server = createResourceServer({
 *   serviceId: "docs",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "* /mcp": [], "MCP skills/list": ["skills:read"] },
 *   mcp: mcpOperations({ methods: { "skills/list": null } }),
 * });
 * ```
 */
export function mcpOperations(options: McpOperationsOptions = {}): McpOperations {
  // Without a prototype: a polluted one must not set an option.
  const written = { __proto__: null, ...options };
  return createCapability<McpOperations>({
    option: "mcp",
    written: values.isPlainObject(options) ? written : options,
    shape,
    names: { mcp: Object.keys(names) },
    create: () => createLanguage(new OperationMethods(written.methods)),
  });
}
