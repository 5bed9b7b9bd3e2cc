/** The extension point for what a capability adds to responses. */
import type { Refused } from "../policy/decision.ts";
import type { Challenge } from "./challenge.ts";

export interface ResponseFields {
  /** Returns the challenges of a refusal, instead of the one for bearer tokens. */
  challenges(bearer: Challenge, refused: Refused, status: number): readonly Challenge[];
  /** Returns header fields that every refusal has; absent without any. Their values may change. */
  readonly refusalHeaders?: (() => Readonly<Record<string, string>>) | undefined;
  /** Properties of the metadata of the server (RFC 9728 section 2). */
  readonly metadata: Readonly<Record<string, unknown>>;
}
