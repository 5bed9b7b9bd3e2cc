/** What the tests of API keys share. */
import type { NewApiKey } from "scopegate/api-keys";

export const PREFIX = "acme_pat_";
export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const GIVEN: NewApiKey = { prefix: PREFIX, name: "ci", scopes: ["agents:read"], ownerId: "u1" };

/** CRC-32 (ISO 3309), bit by bit: a second implementation. */
export function crcOf(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
