import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOnlyReading } from "../../../src/core/runtime/json.ts";

const isOnly = (json: string): boolean => isOnlyReading(JSON.parse(json) as object, Buffer.from(json));

describe("isOnlyReading", () => {
  it("accepts every object that JSON.stringify writes, however long its strings are", () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('"', "\\", ":", "a", "é"), maxLength: 300 }),
      fc.string(),
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.integer(),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(text, tie("tree"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(text, tree, { maxKeys: 4 }), (value) => {
        expect(isOnly(JSON.stringify(value))).toBe(true);
        expect(isOnly(JSON.stringify(value, undefined, 2))).toBe(true);
      }),
      { numRuns: 500, seed: 6749 },
    );
  });

  it.each([
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    `{"x":"${"y".repeat(200)}","a":1,"a":2}`,
    `{"x":"${"y".repeat(200)}\\"","a":1,"a":2}`,
    `{"x":"${"y".repeat(200)}\\\\","a":1,"a":2}`,
    `{"x":"${'\\"'.repeat(200)}","a":1,"a":2}`,
    `{"x":[{"${"k".repeat(100)}":1,"${"k".repeat(100)}":2}]}`,
  ])("refuses a property that occurs twice: %s", (json) => expect(isOnly(json)).toBe(false));

  it.each([`{"x":"${'a":"'.replaceAll('"', '\\"').repeat(50)}"}`, `{"x":"${":".repeat(300)}"}`])(
    "counts nothing in strings: %s",
    (json) => expect(isOnly(json)).toBe(true),
  );

  it("refuses a byte order mark", () => {
    expect(isOnlyReading({ a: 1 }, Buffer.from('\ufeff{"a":1}'))).toBe(false);
  });
});
