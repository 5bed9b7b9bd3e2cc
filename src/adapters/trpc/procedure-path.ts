/** How the URL of a procedure is written. */
import { orUndefined } from "../../core/errors.ts";
import { type OptionChecks, oneOf } from "../../core/options/option-checks.ts";
import { readPath } from "../../core/request.ts";

/** Where a tRPC router is served. */
export interface TrpcOptions {
  /** The whole path before the names, mount prefixes included, such as `/trpc`; `/` for none. */
  readonly prefix: string;
  /** The `pathSeparator` of `initTRPC.create()`. Default: `.` */
  readonly pathSeparator?: "." | "_" | "~" | "-";
}

export const TRPC_OPTIONS: OptionChecks<TrpcOptions> = {
  prefix: {
    accepts: isPrefix,
    hint: 'Write the path that the tRPC router is served at: { prefix: "/trpc" }.',
    isRequired: true,
  },
  pathSeparator: oneOf(".", "_", "~", "-"),
};

function isPrefix(prefix: unknown): boolean {
  if (typeof prefix !== "string" || prefix === "") return false;
  const base = prefix === "/" ? "" : prefix;
  const path = orUndefined(() => readPath(`${base}/name`));
  return path?.text === `${base}/name` && !/[%:*{]|,/.test(base);
}

/** Returns the path of a procedure, as clients write it: `/trpc/user.list` for `user.list`. */
export function createPathOf({ prefix, pathSeparator = "." }: TrpcOptions): (procedure: string) => string {
  const base = prefix === "/" ? "" : prefix;
  // A raw `?` would cut off the name, and the rule for another procedure would decide.
  return (procedure) =>
    `${base}/${encodeURI(procedure.replaceAll(".", pathSeparator)).replaceAll(/[?#/]/g, encodeURIComponent)}`;
}
