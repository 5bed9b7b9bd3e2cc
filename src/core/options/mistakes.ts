import type { ConfigurationIssue } from "../errors.ts";

export type Path = ConfigurationIssue["path"];

/** The mistake of an option that can't be combined with another one. */
export const conflict = (
  path: Path,
  otherOption: string,
  hint = "Remove one of the two.",
): ConfigurationIssue => ({
  code: "option_conflict",
  path,
  message: `can't be combined with \`${otherOption}\`.`,
  hint,
});
