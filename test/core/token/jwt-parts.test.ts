import { createSecretKey, randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findFormMistake, readJwt } from "../../../src/core/token/jwt-parts.ts";
import { encode, signRaw, signSegments } from "../../support/raw-token.ts";
import { createServer, issuer, verdictOf } from "../../support/resource-servers.ts";
import { anyCharacter } from "../../support/text.ts";

const HEADER = '{"alg":"RS256","typ":"JWT"}';
const PAYLOAD = '{"scopes":[],"aud":"agents-prod","sub":"user-1"}';

const server = createServer();
const verdict = (token: string) => verdictOf(server, token);

/** The verdict on a token with these bytes and a valid signature. */
const signed = (header: string | Uint8Array, payload: string | Uint8Array = PAYLOAD) =>
  verdict(signRaw(header, payload, issuer.privateKey));
const signedSegments = (header: string, payload: string) =>
  verdict(signSegments(header, payload, issuer.privateKey));

const valid = signRaw(HEADER, PAYLOAD, issuer.privateKey);
const [header = "", payload = "", signature = ""] = valid.split(".");

/** The same string with every character escaped. */
const escaped = (text: string) =>
  `"${text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;

describe("the form of a token", () => {
  it("accepts three segments with a valid signature", async () => {
    expect(await verdict(valid)).toBe("accepted");
  });

  it.each([
    ["no segment", ""],
    ["one segment", header],
    ["two segments", `${header}.${payload}`],
    ["four segments", `${valid}.${signature}`],
    ["five segments, as a JWE has", `${valid}.${signature}.${signature}`],
    ["many segments", ".".repeat(100)],
    ["an empty header", `.${payload}.${signature}`],
    ["an empty payload", `${header}..${signature}`],
    ["a detached payload", signSegments(header, "", issuer.privateKey)],
    ["only dots", ".."],
    ["a fourth, empty segment", `${valid}.`],
    ["a leading dot", `.${valid}`],
    ["a scheme", `Bearer ${valid}`],
    ["quotation marks", `"${valid}"`],
    ["a comma-joined twin", `${valid},${valid}`],
    ["a JSON serialisation", JSON.stringify({ protected: header, payload, signature })],
  ])("rejects %s", async (_, token) => {
    expect(await verdict(token)).toBe("malformed");
  });

  it("rejects a JWE (RFC 7516), whatever its header contains", async () => {
    for (const alg of ["RSA-OAEP", "dir", "RS256"]) {
      const jwe = [encode(JSON.stringify({ alg, enc: "A256GCM" })), "", "AAAA", "AAAA", "AAAA"].join(".");
      expect(await verdict(jwe)).toBe("malformed");
    }
  });

  it("rejects an empty signature as an unsecured JWT (RFC 7519 section 6)", async () => {
    expect(await verdict(`${header}.${payload}.`)).toBe("algorithm");
  });

  it.each([" ", "\n", "\r\n", "\t", "\0", "\u00a0", "\ufeff"])(
    "rejects %j at any position",
    async (space) => {
      for (const at of [0, 1, header.length, header.length + 1, valid.length - 5, valid.length]) {
        expect(await verdict(valid.slice(0, at) + space + valid.slice(at))).toBe("malformed");
      }
    },
  );

  it("allows only one spelling: every similar string is rejected", async () => {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. ";
    await fc.assert(
      fc.asyncProperty(
        fc.nat(valid.length - 1),
        fc.constantFrom(...letters.split("")),
        async (index, letter) => {
          fc.pre(valid.charAt(index) !== letter);
          expect(await verdict(valid.slice(0, index) + letter + valid.slice(index + 1))).not.toBe("accepted");
        },
      ),
      { numRuns: 300 },
    );
  });

  it("throws no error for any string", async () => {
    const segment = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.json().map(encode),
      fc.uint8Array().map(encode),
      fc.constantFrom(header, payload, signature, ""),
    );
    const token = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(segment, { maxLength: 6 }).map((segments) => segments.join(".")),
    );
    await fc.assert(
      fc.asyncProperty(token, async (text) => {
        fc.pre(text !== valid);
        expect(await verdict(text)).not.toBe("accepted");
      }),
      { numRuns: 500 },
    );
  });
});

describe("base64url", () => {
  /** Every other spelling of the same bytes: the unused bits of the last character are not zero. */
  function respell(segment: string): readonly string[] {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const bytes = Buffer.from(segment, "base64url");
    const others = Array.from(alphabet, (last) => segment.slice(0, -1) + last).filter(
      (other) => other !== segment && bytes.equals(Buffer.from(other, "base64url")),
    );
    expect(others).toHaveLength(segment.length % 4 === 2 ? 15 : 3);
    return others;
  }

  it.each([1, 2])("rejects unused bits in a header of 3n+%i bytes", async (rest) => {
    const text = HEADER.replace("{", `{${" ".repeat((3 + rest - (HEADER.length % 3)) % 3)}`);
    expect(text.length % 3).toBe(rest);
    expect(await signed(text)).toBe("accepted");
    for (const other of respell(encode(text))) expect(await signedSegments(other, payload)).toBe("malformed");
  });

  it.each([1, 2])("rejects unused bits in a payload of 3n+%i bytes", async (rest) => {
    const text = PAYLOAD.replace("{", `{${" ".repeat((3 + rest - (PAYLOAD.length % 3)) % 3)}`);
    expect(text.length % 3).toBe(rest);
    expect(await signed(HEADER, text)).toBe("accepted");
    for (const other of respell(encode(text))) expect(await signedSegments(header, other)).toBe("malformed");
  });

  it("rejects unused bits in the signature", async () => {
    for (const other of respell(signature))
      expect(await verdict(`${header}.${payload}.${other}`)).toBe("malformed");
  });

  it("rejects unused bits in the signature of an HMAC", async () => {
    const secret = createSecretKey(randomBytes(32));
    const symmetric = createServer({ algorithm: "HS256", verificationKeys: [secret] });
    const token = signRaw('{"alg":"HS256"}', PAYLOAD, secret);
    expect(await verdictOf(symmetric, token)).toBe("accepted");
    for (const other of respell(token)) expect(await verdictOf(symmetric, other)).toBe("malformed");
  });

  it.each([
    ["padding", (segment: string) => `${segment}=`],
    ["more padding", (segment: string) => `${segment}==`],
    ["escaped padding", (segment: string) => `${segment}%3D`],
    ["a line break", (segment: string) => `${segment}\n`],
    ["a plus sign", (segment: string) => `${segment}++++`],
    ["a slash", (segment: string) => `${segment}////`],
    [
      "one character too many",
      (segment: string) => segment.slice(0, segment.length - (segment.length % 4)) + "A",
    ],
  ])("rejects %s in every segment, even if the signature covers it", async (_, change) => {
    expect(await signedSegments(change(header), payload)).toBe("malformed");
    expect(await signedSegments(header, change(payload))).toBe("malformed");
    expect(await verdict(`${header}.${payload}.${change(signature)}`)).toBe("malformed");
  });
});

describe("the JSON of a token", () => {
  it.each([
    ["no JSON", "alg"],
    ["nothing", " "],
    ["null", "null"],
    ["a text", '"RS256"'],
    ["a number", "5"],
    ["a list", '[{"alg":"RS256"}]'],
    ["an empty list", "[]"],
    ["two objects", `${HEADER}${HEADER}`],
    ["text behind the object", `${HEADER}x`],
    ["a trailing comma", '{"alg":"RS256",}'],
    ["a comment", '{"alg":"RS256"/**/}'],
    ["single quotes", "{'alg':'RS256'}"],
    ["a NUL behind the object", `${HEADER}\0`],
  ])("rejects a segment that contains %s", async (_, text) => {
    expect(await signed(text)).toBe("malformed");
    expect(await signed(HEADER, text)).toBe("malformed");
  });

  it("rejects a byte order mark, which some parsers skip", async () => {
    expect(await signed(`\ufeff${HEADER}`)).toBe("malformed");
    expect(await signed(HEADER, `\ufeff${PAYLOAD}`)).toBe("malformed");
  });

  it.each([
    ["a lone byte", [0xff]],
    ["a cut sequence", [0xc3]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["a code point beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
  ])("rejects invalid UTF-8: %s", async (_, bytes) => {
    const wrap = (json: string) =>
      Buffer.concat([Buffer.from(json.slice(0, -1) + ',"x":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(await signed(wrap(HEADER))).toBe("malformed");
    expect(await signed(HEADER, wrap(PAYLOAD))).toBe("malformed");
  });

  it.each([
    '{"alg":"RS256","alg":"RS256"}',
    '{"alg":"none","alg":"RS256"}',
    '{"alg":"RS256","alg":"none"}',
    '{"alg":"RS256","\\u0061lg":"RS256"}',
    '{"\\u0061lg":"RS256","alg":"RS256"}',
    '{"alg":"RS256","kid":"a","kid":"a"}',
    '{"alg":"RS256","typ":"JWT","typ":"JWT"}',
    '{"alg":"RS256","x":{"y":1,"y":1}}',
    '{"alg":"RS256","x":[{"y":1,"\\u0079":1}]}',
    '{"alg":"RS256","__proto__":1,"__proto__":2}',
    '{"alg":"RS256","1":0,"1":0}',
  ])("rejects a header with a repeated property: %s", async (json) => {
    expect(await signed(json)).toBe("malformed");
  });

  it.each([
    '"scopes":["agents:read"]',
    '"\\u0073copes":["platform:admin"]',
    '"sub":"user-2"',
    '"s\\u0075b":"user-1"',
    '"nested":{"a":1,"a":2}',
    '"nested":{"a":{"b":[{"c":1,"c":1}]}}',
    '"nested":[[{"a":1,"\\u0061":1}]]',
    '"nested":{"":1,"":1}',
    '"nested":{"a\\"":1,"a\\u0022":1}',
    '"nested":{"__proto__":{},"__proto__":{}}',
    '"__proto__":1,"__proto__":1',
  ])("rejects a payload with a repeated property: ...,%s", async (member) => {
    expect(await signed(HEADER, `${PAYLOAD.slice(0, -1)},${member}}`)).toBe("malformed");
  });

  it("rejects every repeated name, however it is escaped", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.boolean(), async (name, deep) => {
        const twice = `{${JSON.stringify(name)}:":",${escaped(name)}:"{}"}`;
        const nested = deep ? `[{"a":"\\":"},[${twice}]]` : twice;
        expect(await signed(HEADER, `${PAYLOAD.slice(0, -1)},"nested":${nested}}`)).toBe("malformed");
      }),
      { numRuns: 200 },
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

  it("accepts deeply nested JSON", async () => {
    const deep = "[".repeat(5000) + "]".repeat(5000);
    const json = `${PAYLOAD.slice(0, -1)},"nested":${deep}}`;
    const big = createServer({ maxTokenBytes: 100_000 });
    expect(await verdictOf(big, signRaw(HEADER, json, issuer.privateKey))).toBe("accepted");
  });
});

describe("the header of a token", () => {
  it.each([
    '{"typ":"JWT"}',
    "{}",
    '{"alg":null}',
    '{"alg":5}',
    '{"alg":["RS256"]}',
    '{"alg":{"RS256":1}}',
    '{"alg":true}',
    '{"ALG":"RS256"}',
    '{"__proto__":{"alg":"RS256"}}',
    '{"alg":"RS256","kid":5}',
    '{"alg":"RS256","kid":null}',
    '{"alg":"RS256","kid":["a"]}',
    '{"alg":"RS256","kid":{"toString":"a"}}',
    '{"alg":"RS256","typ":null}',
    '{"alg":"RS256","typ":["JWT"]}',
    '{"alg":"RS256","typ":1}',
  ])("rejects a missing parameter, or one of the wrong type: %s", async (json) => {
    expect(await signed(json)).toBe("malformed");
  });

  it.each([
    '"crit":["exp"],"exp":1',
    '"crit":["b64"],"b64":true',
    '"crit":["b64"],"b64":false',
    '"crit":["alg"]',
    '"crit":["http://example.com/ext"]',
    '"crit":[]',
    '"crit":null',
    '"crit":"exp"',
    '"b64":false',
    '"b64":true',
    '"b64":null',
    '"\\u0062\\u0036\\u0034":false',
    '"cr\\u0069t":["exp"]',
  ])("rejects critical extensions (RFC 7515 section 4.1.11, RFC 7797): %s", async (json) => {
    expect(await signed(`{"alg":"RS256",${json}}`)).toBe("malformed");
  });

  it("rejects an unencoded payload with a valid signature (RFC 7797)", async () => {
    const unencoded = encode('{"alg":"RS256","b64":false,"crit":["b64"]}');
    expect(await signedSegments(unencoded, PAYLOAD)).toBe("malformed");
  });

  it("ignores other parameters", async () => {
    expect(await signed('{"alg":"RS256","x":{"y":[1,{"z":null}]},"cty":"JWT"}')).toBe("accepted");
  });
});

describe("readJwt", () => {
  it.each([
    [{ alg: "RS256" }, { alg: "RS256" }],
    [
      { alg: "RS256", kid: "a", typ: "JWT" },
      { alg: "RS256", kid: "a", typ: "JWT" },
    ],
    [
      { typ: "", kid: "", alg: "" },
      { alg: "", kid: "", typ: "" },
    ],
    [{ alg: "RS256", jku: "https://stranger.example", cty: "x" }, { alg: "RS256" }],
  ])("returns the verified parameters of the header %j, and does not parse the payload", (json, expected) => {
    const token = `${encode(JSON.stringify(json))}.${encode("no JSON")}.${signature}`;
    expect(readJwt(token)).toStrictEqual({
      kind: "jwt",
      jwt: { encoded: token, header: expected, payload: encode("no JSON") },
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
  it("rejects one byte more than maxTokenBytes before any other check", async () => {
    expect(await verdictOf(createServer({ maxTokenBytes: valid.length }), valid)).toBe("accepted");
    expect(await verdictOf(createServer({ maxTokenBytes: valid.length - 1 }), valid)).toBe("too_large");
    expect(await verdictOf(createServer({ maxTokenBytes: 1 }), "..")).toBe("too_large");
  });

  it("allows 16384 bytes by default", async () => {
    expect(await verdict("a".repeat(16_384))).toBe("malformed");
    expect(await verdict("a".repeat(16_385))).toBe("too_large");
  });
});

describe("readJwt", () => {
  it.each([
    ["no part", ""],
    ["one part", header],
    ["two parts", `${header}.${payload}`],
    ["four parts", `${valid}.${signature}`],
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
