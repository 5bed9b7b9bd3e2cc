/** Comparisons whose time doesn't depend on the content of strings. */
import { timingSafeEqual } from "node:crypto";

/** Returns whether two strings are equal. The time reveals only whether they have the same length. */
export function areEqual(text: string, other: string): boolean {
  const [bytes, otherBytes] = [Buffer.from(text), Buffer.from(other)];
  return bytes.length === otherBytes.length && timingSafeEqual(bytes, otherBytes);
}
