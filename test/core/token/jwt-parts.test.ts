import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { findFormMistake, readJwt } from "../../../src/core/token/jwt-parts.ts";
import { encode, signRaw } from "../../support/raw-token.ts";
import { createServer, issuer, verdictOf } from "../../support/resource-servers.ts";

const HEADER = '{"alg":"RS256","typ":"JWT"}';
const PAYLOAD = '{"scopes":[],"aud":"agents-prod","sub":"user-1"}';

const server = createServer();
const verdict = (token: string) => verdictOf(server, token);

/** The verdict on a token with these bytes and a valid signature. */
const signed = (header: string | Uint8Array, payload: string | Uint8Array = PAYLOAD) =>
  verdict(signRaw(header, payload, issuer.privateKey));

const valid = signRaw(HEADER, PAYLOAD, issuer.privateKey);
const [header = "", payload = "", signature = ""] = valid.split(".");

/** The same string with every character escaped. */
const escaped = (text: string) =>
  `"${text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;

// `test/security/{tokens,fuzz}` have the tokens with a wrong form: these tests have what is not there.

describe("base64url", () => {
  const isRead = (...segments: readonly string[]) => readJwt(segments.join(".")).kind === "jwt";
  /** The token with this segment in each of its three places. */
  const placesOf = (segment: string) => [
    [segment, payload, signature],
    [header, segment, signature],
    [header, payload, segment],
  ];

  it.each([1, 2])("rejects unused bits in any segment of 3n+%i bytes", (rest) => {
    const segment = encode(HEADER + " ".repeat((3 + rest - (HEADER.length % 3)) % 3));
    for (const place of placesOf(segment)) expect(isRead(...place)).toBe(true);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const bytes = Buffer.from(segment, "base64url");
    const others = Array.from(alphabet, (last) => segment.slice(0, -1) + last).filter(
      (other) => other !== segment && bytes.equals(Buffer.from(other, "base64url")),
    );
    expect(others).toHaveLength(rest === 1 ? 15 : 3);
    for (const place of others.flatMap(placesOf)) expect(isRead(...place)).toBe(false);
  });

  it.each(["=", "==", "%3D", "\n", "++++", "////"])("rejects %j at the end of any segment", (end) => {
    expect(isRead(header + end, payload, signature)).toBe(false);
    expect(isRead(header, payload + end, signature)).toBe(false);
    expect(isRead(header, payload, signature + end)).toBe(false);
  });
});

describe("the JSON of a token", () => {
  it("rejects every repeated name, however it is escaped", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.boolean(), async (name, deep) => {
        const twice = `{${JSON.stringify(name)}:":",${escaped(name)}:"{}"}`;
        const nested = deep ? `[{"a":"\\":"},[${twice}]]` : twice;
        expect(await signed(HEADER, `${PAYLOAD.slice(0, -1)},"nested":${nested}}`)).toBe("malformed");
      }),
      { numRuns: 200, examples: ["", "1", '"', "__proto__"].map((name): [string, boolean] => [name, true]) },
    );
  });

  it("accepts any JSON with unique names, whatever its strings contain", async () => {
    const value = fc.oneof(
      fc.json({ noUnicodeString: false }),
      fc
        .string({ unit: fc.constantFrom('"', "\\", ":", "{", "}", ",", "a", "\n") })
        .map((text) => JSON.stringify(text)),
      fc
        .uniqueArray(fc.string({ unit: fc.constantFrom('"', "\\", ":", "{", "a") }))
        .map(
          (names) => `{${names.map((name) => `${escaped(name)} : ${JSON.stringify(name)}`).join(" ,\n")}}`,
        ),
    );
    await fc.assert(
      fc.asyncProperty(value, async (json) => {
        expect(await signed(HEADER, `${PAYLOAD.slice(0, -1)}, "nested" : ${json} }`)).toBe("accepted");
      }),
      { numRuns: 300 },
    );
  });
});

describe("the header of a token", () => {
  it.each([
    "{}",
    '{"ALG":"RS256"}',
    '{"__proto__":{"alg":"RS256"}}',
    '{"alg":"RS256","typ":null}',
    '{"alg":"RS256","typ":1}',
    '{"alg":"RS256","b64":null}',
    '{"alg":"RS256","\\u0062\\u0036\\u0034":false}',
    '{"alg":"RS256","cr\\u0069t":["exp"]}',
    '{"alg":"RS256","x":{"y":1,"y":1}}',
    '{"alg":"RS256","__proto__":1,"__proto__":2}',
  ])("rejects %s", async (json) => {
    expect(await signed(json)).toBe("malformed");
  });
});

describe("readJwt", () => {
  it.each([
    [{ alg: "RS256" }, { alg: "RS256", kid: undefined, type: undefined }],
    [
      { typ: "", kid: "", alg: "" },
      { alg: "", kid: "", type: "" },
    ],
    [
      { alg: "RS256", typ: "Application/AT+JWT", jku: "https://stranger.example", cty: "x" },
      { alg: "RS256", kid: undefined, type: "at+jwt" },
    ],
  ])("returns the verified parameters of the header %j, and does not parse the payload", (json, expected) => {
    const token = `${encode(JSON.stringify(json))}.${encode("no JSON")}.${signature}`;
    expect(readJwt(token)).toStrictEqual({
      kind: "jwt",
      jwt: { encoded: token, header: expected, payload: Buffer.from("no JSON") },
    });
  });
});

describe("the cache of headers", () => {
  const read = (header: string) => readJwt(`${encode(header)}.${encode(PAYLOAD)}.${signature}`);
  const kidOf = (outcome: ReturnType<typeof readJwt>) =>
    outcome.kind === "rejected" ? outcome.rejection : outcome.jwt.header.kid;

  it("returns the same header again, among any number of others", () => {
    const header = (kid: number) => `{"alg":"RS256","kid":"${kid}"}`;
    const kids = Array.from({ length: 300 }, (_, kid) => kid);
    for (let round = 0; round < 2; round += 1)
      expect(kids.map((kid) => kidOf(read(header(kid))))).toEqual(kids.map(String));
  });

  it.each([
    ["with more than a thousand characters", `{"alg":"RS256","kid":"a","x":"${"y".repeat(1_000)}"}`, "a"],
    ["that is ambiguous", '{"alg":"RS256","kid":"a","kid":"b"}', "malformed"],
    ["with an extension that must be understood", '{"alg":"RS256","crit":["b64"]}', "malformed"],
  ])("returns the same result again for a header %s", (_, header, expected) => {
    expect([kidOf(read(header)), kidOf(read(header))]).toEqual([expected, expected]);
  });

  it("freezes a header, so that no caller can change it for other tokens", () => {
    const outcome = read('{"alg":"RS256","kid":"a"}');
    const { jwt } = outcome as { jwt: { header: object } };
    expect(() => Object.assign(jwt.header, { alg: "none" })).toThrow(TypeError);
  });
});

describe("the size of a token", () => {
  it("checks it before anything else", () => {
    expect(findFormMistake("..", 1)).toEqual({ kind: "rejected", rejection: "too_large" });
  });

  it("allows 16384 bytes by default", async () => {
    expect(await verdict("a".repeat(16_384))).toBe("malformed");
    expect(await verdict("a".repeat(16_385))).toBe("too_large");
  });
});

describe("the size of a header", () => {
  /** A header of this many characters. */
  const padded = (characters: number) => {
    const rest = HEADER.replace("}", ',"x":""}').length;
    return HEADER.replace("}", `,"x":"${"x".repeat((characters / 4) * 3 - rest)}"}`);
  };

  it("allows 8,192 characters, and does not parse more", async () => {
    expect(encode(padded(8_192))).toHaveLength(8_192);
    expect(await signed(padded(8_192))).toBe("accepted");
    const parse = vi.spyOn(JSON, "parse");
    expect(await signed(padded(8_196))).toBe("too_large");
    expect(await verdict(`${"a".repeat(8_193)}.e30.AAAA`)).toBe("too_large");
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it.each<[string, (count: number) => string]>([
    ["parameters", (count) => Array.from({ length: count }, (_, index) => `"x${index}":0`).join(",")],
    ["objects", (count) => `"x":${'{"a":'.repeat(count)}0${"}".repeat(count)}`],
    ["arrays", (count) => `"x":${"[".repeat(count)}${"]".repeat(count)}`],
    ["elements", (count) => `"x":[${"0,".repeat(count)}0]`],
  ])("allows a certificate chain, and does not parse more than 64 %s", async (_, values) => {
    const certificates = Array.from({ length: 10 }, () => `"${"MIIC".repeat(100)}"`).join(",");
    expect(await signed(HEADER.replace("}", `,"x5c":[${certificates}],${values(40)}}`))).toBe("accepted");
    const parse = vi.spyOn(JSON, "parse");
    expect(await signed(HEADER.replace("}", `,${values(65)}}`))).toBe("malformed");
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });
});

describe("readJwt", () => {
  it.each([
    ["no part", ""],
    ["one part", header],
    ["two parts", `${header}.${payload}`],
    ["four parts", `${valid}.${signature}`],
    ["an empty payload", `${header}..${signature}`],
  ])("rejects %s, even if the form was not checked before", (_, token) => {
    expect(readJwt(token)).toEqual({ kind: "rejected", rejection: "malformed" });
  });
});

describe("the memory of the header cache", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const used = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  /** The additional memory after `count` tokens, each with a different header. */
  function growthBy(count: number, kidLength: number, payloadLength: number): number {
    const before = used();
    for (let index = 0; index < count; index += 1) {
      const kid = `${index}-`.padEnd(kidLength, "k");
      const token = `${encode(JSON.stringify({ alg: "RS256", kid }))}.${"A".repeat(payloadLength)}.AAAA`;
      expect(readJwt(token)).toMatchObject({ jwt: { header: { kid } } });
    }
    return used() - before;
  }

  it.each([
    ["does not keep the tokens", 30, 10, 1_000_000],
    ["does not keep long headers", 50, 300_000, 4],
    ["keeps a limited number of headers", 15_000, 650, 4],
  ])("%s", (_, count, kidLength, payloadLength) => {
    expect(growthBy(count, kidLength, payloadLength)).toBeLessThan((count * (kidLength + payloadLength)) / 2);
  });
});

describe("findFormMistake", () => {
  it.each([undefined as never, "", "a", "a.b", ".", "..", ".b.c", "a..c", "a.b.c.", "a.b.c.d", "....."])(
    "rejects %j, which does not have three segments, before it is hashed",
    (token) => {
      expect(findFormMistake(token, 100)).toEqual({ kind: "rejected", rejection: "malformed" });
    },
  );

  it.each(["a.b.c", "a.b."])("finds no mistake in %j", (token) => {
    expect(findFormMistake(token, 100)).toBeUndefined();
  });
});
