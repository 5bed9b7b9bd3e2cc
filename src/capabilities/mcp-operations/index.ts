import * as z from "zod/mini";
import { createCapability } from "../../core/create-capability.ts";
import * as values from "../../core/options/values.ts";
import type { McpOperations } from "../../core/policy/key-language.ts";
import { createLanguage, PATH_FORM } from "./language.ts";
import { type ExtensionMethods, isExtensionMethod, OperationMethods } from "./operation-methods.ts";
import { isTransportPath, overlap, Transports } from "./transports.ts";

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
  /**
   * The paths of your MCP servers, such as `["/t/:org/mcp"]`. Scopes and `where` of operations can then name
   * their parameters, and an argument with the name of a parameter is never read. Keys can be for one path:
   * `MCP /a/mcp tools/call search`. Operations at any other path are refused. Default: every path, without
   * parameters.
   */
  readonly paths?: readonly string[];
  /**
   * Whether tools, prompts and resources don't exist for callers who may not call them with any arguments:
   * they are in no list, and a call gets the server's response for an unknown name. Default: `false`.
   */
  readonly hidden?: boolean;
  /**
   * Whether guests and users can share one server in clients such as ChatGPT. The list of tools says what
   * each tool needs: `securitySchemes`, in the tool and in its `_meta`. A refused call of a tool is a result
   * with `_meta["mcp/www_authenticate"]` instead of 401 or 403, so other clients don't ask for more scopes.
   * Default: `false`.
   */
  readonly securitySchemes?: boolean;
}

const METHODS =
  'Write methods that the protocol lacks, each with the parameter that names what it calls, or null: { "skills/list": null }.';
const methodName = z.string().check(z.refine(isExtensionMethod, { error: METHODS }));
const path = z.string({ error: PATH_FORM }).check(z.refine(isTransportPath, { error: PATH_FORM }));
const OVERLAP = "Write paths of which no request has two. For different rules, mount the servers elsewhere.";
const paths = values
  .nonEmptyArray(path, PATH_FORM)
  .check(z.refine((all) => !overlap(all as string[]), { error: OVERLAP }));
const names = {
  methods: z.exactOptional(z.record(methodName, z.nullable(values.text(METHODS)), { error: METHODS })),
  paths: z.exactOptional(paths),
  hidden: z.exactOptional(values.flag),
  securitySchemes: z.exactOptional(values.flag),
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
    create() {
      const transports = new Transports(written.paths);
      return createLanguage({
        methods: new OperationMethods(written.methods),
        transports,
        hidden: written.hidden === true,
        securitySchemes: written.securitySchemes === true,
      });
    },
  });
}
