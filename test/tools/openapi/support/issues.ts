import { ConfigurationError } from "scopegate";

/** The place and code of every mistake that a call reports. */
export function issuesOf(run: () => unknown): readonly (readonly [string, string])[] {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.issues.map(({ path, code }) => [path.join("/"), code] as const);
  }
  return [];
}
