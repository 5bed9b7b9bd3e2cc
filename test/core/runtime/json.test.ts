import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOnlyReading, withoutFractions } from "../../../src/core/runtime/json.ts";

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

describe("withoutFractions", () => {
  const values = (json: string): unknown => JSON.parse(String(withoutFractions(Buffer.from(json))));

  it.each([
    ["[7.0,7,-0,70e-1,-1.5E+3,1e400]", ["", 7, -0, "", "", ""]],
    [
      '{"7.0":"7.0","e\\"1.5":[true,false,null,"1e5"]}',
      { "7.0": "7.0", 'e"1.5': [true, false, null, "1e5"] },
    ],
    ['{"a":\t7.0 ,"b":{"c":7}, "d":"\\\\","e":1E1}', { a: "", b: { c: 7 }, d: "\\", e: "" }],
    [`["${"x".repeat(200)}", 1.0, "${"1.0".repeat(100)}"]`, ["x".repeat(200), "", "1.0".repeat(100)]],
  ])("replaces numbers with a fraction or an exponent in %s", (json, expected) => {
    expect(values(json)).toEqual(expected);
  });

  it("keeps everything else, whatever the JSON contains", () => {
    const integers = fc
      .jsonValue({ maxDepth: 4 })
      .map((value) =>
        JSON.stringify(value, (_, entry: unknown) => (typeof entry === "number" ? Math.trunc(entry) : entry)),
      );
    fc.assert(
      fc.property(integers, (json) => {
        fc.pre(!/\de/.test(json));
        const bytes = Buffer.from(json);
        expect(withoutFractions(bytes)).toBe(bytes);
      }),
      { seed: 6749 },
    );
  });
});
