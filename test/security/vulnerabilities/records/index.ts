import { CREDENTIALS } from "./credentials.ts";
import { GATEWAYS } from "./gateways.ts";
import { LIMITS } from "./limits.ts";
import { MCP } from "./mcp.ts";
import { PATHS } from "./paths.ts";
import { TOKENS } from "./tokens.ts";
import type { Group } from "./vulnerability.ts";

/** The sections of the page, in its order. */
export const GROUPS: readonly Group[] = [PATHS, GATEWAYS, TOKENS, CREDENTIALS, MCP, LIMITS];
