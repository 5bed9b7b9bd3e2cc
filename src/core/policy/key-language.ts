/**
 * The extension points for rules of operations: for keys of the table that aren't paths, and for paths that
 * name several operations.
 */
import type { Capability } from "../capability.ts";
import type { Path } from "../request.ts";
import type { Governing } from "./governing.ts";
import type { Pattern } from "./pattern.ts";
import type { OperationRestrictions } from "./restrictions.ts";
import type { CompiledRule } from "./rule.ts";

/** A value of the option `mcp`: `mcpOperations()` of `scopegate/mcp`. */
export interface McpOperations extends Capability {
  readonly option: "mcp";
  /** Creates the part of one server. */
  readonly create: () => KeyLanguage;
}

/** What the compiler says about plain data in place of a value. */
export type PlainMcpOperations = Readonly<
  Partial<
    Record<
      "methods" | "paths" | "hidden" | "securitySchemes",
      "write mcp: mcpOperations({ ... }), from scopegate/mcp"
    >
  >
>;

/** Reads keys that have the name of an operation instead of a path: `MCP tools/call search`. */
export interface KeyLanguage {
  /** Parses a key, or explains what is wrong with it; `undefined` for the key of a path. */
  readonly parseKey: (key: string) => Pattern | KeyMistake | undefined;
  readonly createRules: (
    rules: readonly CompiledRule[],
    conditioned: OperationRestrictions | undefined,
  ) => OperationRules;
}

/** A mistake in a key, and the fix. */
export interface KeyMistake {
  readonly message: string;
  readonly hint: string;
}

/** The rules of a table for operations. */
export interface OperationRules {
  /** Finds the rules for a key without `MCP`, or for an operation that a server lists. */
  readonly find: (key: string) => readonly CompiledRule[];
  /** Returns the rules for one operation, which no HTTP request carries: `tools/call search`. */
  readonly forTarget: (target: string, parameters: Readonly<Record<string, unknown>>) => Governing;
}

/** A value of the option `batches`: `trpcBatches()` of `scopegate/trpc`. */
export interface Batches extends Capability {
  readonly option: "batches";
  /** Creates the part of one server. */
  readonly create: () => BatchRules;
}

/** Finds the rules for the operations that a path names. */
export interface BatchRules {
  /** Under this prefix, only the names of a batch decide, because no other handler reads the path. */
  readonly declare: (prefix: string) => void;
  readonly forBatch: (path: Path, forPath: (path: Path) => Governing) => Governing;
}
