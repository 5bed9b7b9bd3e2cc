import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutFractions } from "../../../src/adapters/mcp/fractions.ts";
import { isOnlyReading, readMarks } from "../../../src/core/runtime/json.ts";

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

  it.each([
    '{"a":[1,2,{"b":3}],"a":1}',
    '{"a":{},"b":[{},[]],"c":1,"c":2}',
    '{"a":1,"a":{"b":{"c":{}}}}',
    '{"a":{"b":1,"b":{}},"c":{}}',
    '[[],[{}],{"a":1,"a":2}]',
    '{"__proto__":{"a":1},"__proto__":{"a":1}}',
  ])("refuses a property that occurs twice beside other containers: %s", (json) =>
    expect(isOnly(json)).toBe(false),
  );

  it("refuses every repeated property, whatever is around it", () => {
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.string({ unit: fc.constantFrom("{", "[", '"', ":", "a"), maxLength: 5 }),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(fc.string({ maxLength: 3 }), tie("tree"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, tree, tree, (before, first, second, after) => {
        const [earlier, one, other, later] = [before, first, second, after].map((value) =>
          JSON.stringify(value),
        );
        const repeated = (name: string) => `[${earlier},{"n":${one},"x":0,"${name}":${other}},${later}]`;
        expect(isOnly(repeated("n"))).toBe(false);
        expect(isOnly(repeated("m"))).toBe(true);
      }),
      { numRuns: 500, seed: 6749 },
    );
  });
});

describe("readMarks", () => {
  it.each([
    ["7.0", true],
    ["-1.5", true],
    ["1e5", true],
    ["[1E5]", true],
    ['{"a":[true,false,null,{"b":-7}]}', false],
    ['{"1.5e3":"1.5e3"}', false],
    ['{"\\"1.5":"\\\\","e":0}', false],
  ])("reports whether %s has a number with a fraction or an exponent", (json, expected) => {
    expect(readMarks(Buffer.from(json)).hasFraction).toBe(expected);
  });

  it("finds a fraction or an exponent wherever `withoutFractions` replaces one", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const json = Buffer.from(JSON.stringify(value));
        expect(readMarks(json).hasFraction).toBe(withoutFractions(json) !== json);
      }),
      { numRuns: 500, seed: 6749 },
    );
  });
});
