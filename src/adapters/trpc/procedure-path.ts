/** How the URL of a procedure is written. */
import { orUndefined } from "../../core/errors.ts";
import { readPath } from "../../core/request.ts";
import { assertNoOptions } from "../shared/misuse.ts";

/** Where a tRPC router is served. */
export interface TrpcOptions {
  /** The whole path in front of the names, mount prefixes included, such as `/trpc`; `/` for none. */
  readonly prefix: string;
  /** The `pathSeparator` of `initTRPC.create()`. Default: `.` */
  readonly pathSeparator?: "." | "_" | "~" | "-";
}

/** Returns the path of a procedure, as clients write it: `/trpc/user.list` for `user.list`. */
export function createPathOf(
  caller: string,
  options: TrpcOptions,
  known = "It takes `prefix` and `pathSeparator`.",
): (procedure: string) => string {
  const { prefix, pathSeparator = ".", ...others } = Object(options) as TrpcOptions;
  const base = prefix === "/" ? "" : prefix;
  const path = typeof base === "string" ? orUndefined(() => readPath(`${base}/name`)) : undefined;
  if (prefix === "" || path?.text !== `${base}/name` || /[%:*{]|,/.test(base))
    throw new TypeError(
      `${caller} of "scopegate/trpc" needs the path that the router is served at: write { prefix: "/trpc" }.`,
    );
  assertNoOptions(others, known, `${caller} of "scopegate/trpc"`);
  if (![".", "_", "~", "-"].includes(pathSeparator))
    throw new TypeError(`${caller} of "scopegate/trpc": \`pathSeparator\` must be ".", "_", "~" or "-".`);
  // A raw `?` would cut the name off: the rule of another procedure would decide.
  return (procedure) =>
    `${base}/${encodeURI(procedure.replaceAll(".", pathSeparator)).replaceAll(/[?#/]/g, encodeURIComponent)}`;
}
