/** Ed25519 keys for which anyone can sign. They are the points of the curve with the order 1, 2, 4 or 8. */
import type { KeyObject } from "node:crypto";

/** The y-coordinates of these points, little-endian. The last two are 0 and 1 plus the prime of the field. */
const LOW_ORDER: ReadonlySet<string> = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

/** Returns whether one signature is valid for many or all messages. OpenSSL accepts such a key. */
export function hasLowOrder(key: KeyObject): boolean {
  const point = key.export({ type: "spki", format: "der" }).subarray(-32);
  // The highest bit is the sign of x, which doesn't change the order.
  point.writeUInt8(point.readUInt8(31) & 0x7f, 31);
  return LOW_ORDER.has(point.toString("hex"));
}
