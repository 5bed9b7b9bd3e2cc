/** Comparisons that take the same time for every text. */
import { timingSafeEqual } from "node:crypto";

/** Returns whether two texts are equal. How long it takes shows only whether they have one length. */
export function areEqual(text: string, other: string): boolean {
  const [bytes, otherBytes] = [Buffer.from(text), Buffer.from(other)];
  return bytes.length === otherBytes.length && timingSafeEqual(bytes, otherBytes);
}
