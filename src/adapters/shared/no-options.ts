import { ConfigurationError } from "../../core/errors.ts";

/** Adapters need no options, because each route is checked as its router reads it. */
export type NoOptions = Readonly<Record<string, never>>;

/** @throws ConfigurationError for any option */
export function assertNoOptions(options: NoOptions): void {
  const isObject = typeof options === "object" && (options as unknown) !== null && !Array.isArray(options);
  const names = isObject ? Object.keys(options) : ["options"];
  if (names.length === 0) return;
  throw new ConfigurationError(
    names.map((name) => ({
      code: "option_unknown",
      path: ["protect", name],
      message: `received unknown option \`${name}\`.`,
      hint: "It takes no options.",
    })),
  );
}
