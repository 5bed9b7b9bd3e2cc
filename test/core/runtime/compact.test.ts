import { expect, it } from "vitest";
import { compact } from "../../../src/core/runtime/compact.ts";

it("drops the properties whose value is undefined, and keeps every other value and the order", () => {
  const object = { first: undefined, zero: 0, none: null, empty: "", no: false, last: undefined };
  expect(Object.entries(compact(object))).toEqual([
    ["zero", 0],
    ["none", null],
    ["empty", ""],
    ["no", false],
  ]);
});
