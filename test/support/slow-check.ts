import { vi } from "vitest";
import { until } from "./until.ts";

/** A revocation check that waits until the test answers it. */
export function slowCheck() {
  let answer!: (isRevoked: boolean) => void;
  const isRevoked = vi.fn(() => new Promise<boolean>((resolve) => (answer = resolve)));
  const whenAsked = () => until(() => isRevoked.mock.calls.length > 0);
  return { isRevoked, whenAsked, answer: (isRevoked: boolean) => answer(isRevoked) };
}
