import { createSecretKey, randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJwt } from "../../src/token/jwt-parts.ts";
import { encode, signRaw, signSegments } from "../support/raw-token.ts";
import { createServer, issuer, verdictOf } from "../support/resource-servers.ts";
import { anyCharacter } from "../support/text.ts";

const HEADER = '{"alg":"RS256","typ":"JWT"}';
const PAYLOAD = '{"scopes":[],"aud":"agents-prod","sub":"user-1"}';

const server = createServer();
const verdict = (token: string) => verdictOf(server, token);

/** The verdict on a token of these bytes whose signature is genuine: only its form can be wrong. */
const signed = (header: string | Uint8Array, payload: string | Uint8Array = PAYLOAD) =>
  verdict(signRaw(header, payload, issuer.privateKey));
const signedSegments = (header: string, payload: string) =>
  verdict(signSegments(header, payload, issuer.privateKey));

const valid = signRaw(HEADER, PAYLOAD, issuer.privateKey);
const [header = "", payload = "", signature = ""] = valid.split(".");

/** The same text with every character written as an escape. */
const escaped = (text: string) =>
  `"${text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;

describe("the form of a token", () => {
  it("is accepted as three segments with a genuine signature", async () => {
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
  ])("is refused with %s", async (_, token) => {
    expect(await verdict(token)).toBe("malformed");
  });

  it("is refused as a JWE (RFC 7516), whatever its header says", async () => {
    for (const alg of ["RSA-OAEP", "dir", "RS256"]) {
      const jwe = [encode(JSON.stringify({ alg, enc: "A256GCM" })), "", "AAAA", "AAAA", "AAAA"].join(".");
      expect(await verdict(jwe)).toBe("malformed");
    }
  });

  it.each([[undefined], [null], [42], [{}], [["a.b.c"]]])(
    "is refused as %j, which a program may hand over",
    async (value) => {
      expect(await verdict(value as unknown as string)).toBe("malformed");
    },
  );

  it("is refused as unsecured where the signature is empty (RFC 7519 section 6)", async () => {
    expect(await verdict(`${header}.${payload}.`)).toBe("algorithm");
  });

  it("is refused without a signature", async () => {
    expect(await verdict(`${header}.${payload}.`)).not.toBe("accepted");
  });

  it.each([" ", "\n", "\r\n", "\t", "\0", "\u00a0", "\ufeff"])(
    "is refused with %j anywhere in it",
    async (space) => {
      for (const at of [0, 1, header.length, header.length + 1, valid.length - 5, valid.length]) {
        expect(await verdict(valid.slice(0, at) + space + valid.slice(at))).toBe("malformed");
      }
    },
  );

  it("has one spelling: no other text of nearly the same letters is accepted", async () => {
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

  it("never makes the server fail, whatever the text", async () => {
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
  /** Every other spelling of the same bytes: some of the bits that the last character does not use are set. */
  function respell(segment: string): readonly string[] {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const bytes = Buffer.from(segment, "base64url");
    const others = Array.from(alphabet, (last) => segment.slice(0, -1) + last).filter(
      (other) => other !== segment && bytes.equals(Buffer.from(other, "base64url")),
    );
    expect(others).toHaveLength(segment.length % 4 === 2 ? 15 : 3);
    return others;
  }

  it.each([1, 2])("is refused with unused bits in a header of 3n+%i bytes", async (rest) => {
    const text = HEADER.replace("{", `{${" ".repeat((3 + rest - (HEADER.length % 3)) % 3)}`);
    expect(text.length % 3).toBe(rest);
    expect(await signed(text)).toBe("accepted");
    for (const other of respell(encode(text))) expect(await signedSegments(other, payload)).toBe("malformed");
  });

  it.each([1, 2])("is refused with unused bits in a payload of 3n+%i bytes", async (rest) => {
    const text = PAYLOAD.replace("{", `{${" ".repeat((3 + rest - (PAYLOAD.length % 3)) % 3)}`);
    expect(text.length % 3).toBe(rest);
    expect(await signed(HEADER, text)).toBe("accepted");
    for (const other of respell(encode(text))) expect(await signedSegments(header, other)).toBe("malformed");
  });

  it("is refused with unused bits in the signature", async () => {
    for (const other of respell(signature))
      expect(await verdict(`${header}.${payload}.${other}`)).toBe("malformed");
  });

  it("is refused with unused bits in the signature of an HMAC", async () => {
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
  ])("is refused with %s in any segment, although the signature covers it", async (_, change) => {
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
  ])("is refused when a segment holds %s", async (_, text) => {
    expect(await signed(text)).toBe("malformed");
    expect(await signed(HEADER, text)).toBe("malformed");
  });

  it("is refused behind a byte order mark, which some parsers skip", async () => {
    expect(await signed(`\ufeff${HEADER}`)).toBe("malformed");
    expect(await signed(HEADER, `\ufeff${PAYLOAD}`)).toBe("malformed");
  });

  it.each([
    ["a lone byte", [0xff]],
    ["a cut sequence", [0xc3]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["a code point beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
  ])("is refused when it is no UTF-8: %s", async (_, bytes) => {
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
  ])("is refused when a member of the header occurs twice: %s", async (json) => {
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
  ])("is refused when a member of the payload occurs twice: ...,%s", async (member) => {
    expect(await signed(HEADER, `${PAYLOAD.slice(0, -1)},${member}}`)).toBe("malformed");
  });

  it("is refused for every name that occurs twice, however it is spelled", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.boolean(), async (name, deep) => {
        const twice = `{${JSON.stringify(name)}:":",${escaped(name)}:"{}"}`;
        const nested = deep ? `[{"a":"\\":"},[${twice}]]` : twice;
        expect(await signed(HEADER, `${PAYLOAD.slice(0, -1)},"nested":${nested}}`)).toBe("malformed");
      }),
      { numRuns: 200 },
    );
  });

  it("is accepted for every JSON whose names occur once, whatever its texts hold", async () => {
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

  it("is read however deep it is nested", async () => {
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
  ])("is refused when a parameter is missing or of the wrong type: %s", async (json) => {
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
  ])(
    "is refused with an extension that must be understood (RFC 7515 section 4.1.11, RFC 7797): %s",
    async (json) => {
      expect(await signed(`{"alg":"RS256",${json}}`)).toBe("malformed");
    },
  );

  it("is refused with an unencoded payload although its signature fits (RFC 7797)", async () => {
    const unencoded = encode('{"alg":"RS256","b64":false,"crit":["b64"]}');
    expect(await signedSegments(unencoded, PAYLOAD)).toBe("malformed");
  });

  it("may hold parameters that nobody has to understand", async () => {
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
  ])(
    "reads of the header %j what a verifier may look at, and leaves the payload unread",
    (json, expected) => {
      const token = `${encode(JSON.stringify(json))}.${encode("no JSON")}.${signature}`;
      expect(readJwt(token)).toStrictEqual({
        encoded: token,
        header: expected,
        payload: encode("no JSON"),
      });
    },
  );
});

describe("a header that was read before", () => {
  const read = (header: string) => readJwt(`${encode(header)}.${encode(PAYLOAD)}.${signature}`);
  const kidOf = (outcome: ReturnType<typeof readJwt>) =>
    typeof outcome === "string" ? outcome : outcome.header.kid;

  it("is read as it was, among any number of others", () => {
    const header = (kid: number) => `{"alg":"RS256","kid":"${kid}"}`;
    const kids = Array.from({ length: 300 }, (_, kid) => kid);
    for (let round = 0; round < 2; round += 1)
      expect(kids.map((kid) => kidOf(read(header(kid))))).toEqual(kids.map(String));
  });

  it.each([
    ["of more than a thousand characters", `{"alg":"RS256","kid":"a","x":"${"y".repeat(1_000)}"}`, "a"],
    ["that is ambiguous", '{"alg":"RS256","kid":"a","kid":"b"}', "malformed"],
    ["with an extension that must be understood", '{"alg":"RS256","crit":["b64"]}', "malformed"],
  ])("is judged again the same: one %s", (_, header, expected) => {
    expect([kidOf(read(header)), kidOf(read(header))]).toEqual([expected, expected]);
  });

  it("cannot be changed for the tokens to come", () => {
    const outcome = read('{"alg":"RS256","kid":"a"}');
    expect(() => Object.assign((outcome as { header: object }).header, { alg: "none" })).toThrow(TypeError);
  });
});

describe("the size of a token", () => {
  it("is looked at before anything else: the first byte too many is refused", async () => {
    expect(await verdictOf(createServer({ maxTokenBytes: valid.length }), valid)).toBe("accepted");
    expect(await verdictOf(createServer({ maxTokenBytes: valid.length - 1 }), valid)).toBe("too_large");
    expect(await verdictOf(createServer({ maxTokenBytes: 1 }), "..")).toBe("too_large");
  });

  it("may be 16384 bytes unless the options say otherwise", async () => {
    expect(await verdict("a".repeat(16_384))).toBe("malformed");
    expect(await verdict("a".repeat(16_385))).toBe("too_large");
  });
});

describe("the parts of a token", () => {
  it.each([
    ["no part", ""],
    ["one part", header],
    ["two parts", `${header}.${payload}`],
    ["four parts", `${valid}.${signature}`],
  ])("are not read from %s, whoever looked at it before", (_, token) => {
    expect(readJwt(token)).toBe("malformed");
  });
});

describe("headers that are remembered", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const used = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  /** How much more memory is used after so many tokens, each with a header of its own. */
  function growthBy(count: number, kidLength: number, payloadLength: number): number {
    const before = used();
    for (let index = 0; index < count; index += 1) {
      const kid = `${index}-`.padEnd(kidLength, "k");
      const token = `${encode(JSON.stringify({ alg: "RS256", kid }))}.${"A".repeat(payloadLength)}.AAAA`;
      expect(readJwt(token)).toMatchObject({ header: { kid } });
    }
    return used() - before;
  }

  it.each([
    ["keep nothing of the token that they were cut out of", 30, 10, 1_000_000],
    ["are not the long ones", 50, 300_000, 4],
    ["are no more than an issuer has", 15_000, 650, 4],
  ])("%s", (_, count, kidLength, payloadLength) => {
    expect(growthBy(count, kidLength, payloadLength)).toBeLessThan((count * (kidLength + payloadLength)) / 2);
  });
});
