/** Tokens with a wrong number of parts, invalid base64url or invalid JSON. */
import {
  claimsJson,
  encode,
  forge,
  partsOf,
  PAYLOAD,
  row,
  seal,
  type TokenCase,
  withHeader,
} from "./forge.ts";

const token = forge();
const [header, payload, signature] = partsOf(token);
const KB = 1_000;

const malformed = (name: string, text: string): TokenCase => row("malformed", name, text);
const accepted = (name: string, text: string, options: TokenCase["options"] = {}): TokenCase =>
  row("accepted", name, text, options);

const general = { payload, signatures: [{ protected: header, signature }] };

const parts: readonly TokenCase[] = [
  accepted("three parts", token),
  malformed("two parts", `${header}.${payload}`),
  malformed("four parts", `${token}.${signature}`),
  malformed("five parts, as a JWE", `${header}.AAAA.AAAA.AAAA.AAAA`),
  malformed(
    "a JWE with direct encryption",
    [encode('{"alg":"dir","enc":"A256GCM"}'), "", "AAAA", "AAAA", "AAAA"].join("."),
  ),
  malformed("a trailing dot", `${token}.`),
  malformed("a leading dot", `.${token}`),
  malformed("two dots in a row", token.replace(".", "..")),
  malformed("an empty string", ""),
  malformed("only dots", ".."),
  malformed("dots up to the limit", ".".repeat(16_384)),
  malformed("the flattened JSON serialization", JSON.stringify({ protected: header, payload, signature })),
  malformed("the general JSON serialization", JSON.stringify(general)),
  malformed("the general JSON serialization, nested", JSON.stringify({ payload: general })),
  malformed("a detached payload", seal(header, "")),
  malformed("a token in a token", forge({ header: { alg: "RS256", cty: "JWT" }, payload: token })),
  accepted("another token in an unused claim", forge({ payload: { scopes: [], aud: "agents-prod", token } })),
  malformed("a token in quotation marks", `"${token}"`),
  malformed("two tokens", `${token},${token}`),
  malformed("a leading scheme", `Bearer ${token}`),
];

/**
 * Replaces the last letter with the next one. Changes only unused bits if the length is not a multiple of
 * four.
 */
const bump = (text: string): string => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return text.slice(0, -1) + (letters[letters.indexOf(text.slice(-1)) + 1] ?? "A");
};
/** Pads the payload with spaces to 3n + `rest` bytes. */
const payloadWithRest = (rest: number): string =>
  encode(PAYLOAD + " ".repeat((rest + 3 - (PAYLOAD.length % 3)) % 3));

const spelled: readonly TokenCase[] = [
  ...[1, 2].flatMap((rest) => [
    accepted(`a payload of 3n+${rest} bytes`, seal(header, payloadWithRest(rest))),
    malformed(`unused bits in a payload of 3n+${rest} bytes`, seal(header, bump(payloadWithRest(rest)))),
  ]),
  malformed("unused bits in the signature", `${header}.${payload}.${bump(signature)}`),
  malformed("padding after the signature", `${token}==`),
  malformed("padding after the header", seal(`${encode('{"alg":"RS256"} ')}==`, payload)),
  malformed(
    "the base64 alphabet",
    token.replace(/[-_]/, (letter) => (letter === "-" ? "+" : "/")),
  ),
  malformed("an invalid character in the payload", seal(header, `${payload}!`)),
  malformed(
    "a single base64url character in the last group",
    seal(header, `${payload.slice(0, payload.length - (payload.length % 4))}A`),
  ),
  ...[" ", "\n", "\r\n", "\t", "\0", "\u00a0", "\ufeff", "\u200b"].flatMap((space) => {
    const shown = JSON.stringify(space);
    return [
      malformed(`${shown} before the token`, space + token),
      malformed(`${shown} after the token`, token + space),
      malformed(`${shown} before a dot`, token.replace(".", `${space}.`)),
      malformed(
        `${shown} in the signed payload`,
        seal(header, `${payload.slice(0, 8)}${space}${payload.slice(8)}`),
      ),
    ];
  }),
];

/** The JSON object with one more string, of these bytes. */
const withBytes = (json: string, ...bytes: readonly number[]): Buffer =>
  Buffer.concat([Buffer.from(`${json.slice(0, -1)},"x":"`), Buffer.from(bytes), Buffer.from('"}')]);

const json: readonly TokenCase[] = [
  malformed("invalid UTF-8 in a claim", forge({ payload: withBytes(PAYLOAD, 0xff) })),
  malformed("overlong UTF-8 in a claim", forge({ payload: withBytes(PAYLOAD, 0xc0, 0xaf) })),
  malformed("an incomplete UTF-8 sequence", forge({ payload: withBytes(PAYLOAD, 0xe2, 0x82) })),
  malformed("a UTF-8 encoded surrogate", forge({ payload: withBytes(PAYLOAD, 0xed, 0xa0, 0x80) })),
  malformed("invalid UTF-8 in the header", forge({ header: withBytes('{"alg":"RS256"}', 0xff) })),
  malformed("a byte order mark before the payload", forge({ payload: `\ufeff${PAYLOAD}` })),
  malformed("a byte order mark before the header", forge({ header: '\ufeff{"alg":"RS256"}' })),
  malformed("a payload in UTF-16", forge({ payload: Buffer.from(PAYLOAD, "utf16le") })),
  malformed("scopes twice", claimsJson('"scopes":["platform:admin"]')),
  malformed("scopes twice, once with an escape", claimsJson('"\\u0073copes":["platform:admin"]')),
  malformed("aud twice", claimsJson('"aud":"agents-prod"')),
  malformed("a nested property twice", claimsJson('"a":[{"b":{"c":1,"c":2}}]')),
  malformed("kid twice in the header", forge({ header: '{"alg":"RS256","kid":"a","kid":"b"}' })),
  accepted(
    "one name in two objects, and colons in strings",
    claimsJson('"a":{"x":"a:b"},"b":{"x":":\\"::"}'),
  ),
  ...[
    ...["[]", '["a"]', '"text"', "1", "null", "true", "", "{", "{}}", "{'a':1}", "{scopes:[]}"],
    ...[`${PAYLOAD},`, `${PAYLOAD}x`, `/**/${PAYLOAD}`],
    PAYLOAD.replace("}", ",}"),
    "NaN",
  ].map((value) =>
    malformed(
      `the payload ${value.length > 20 ? `${value.slice(0, 9)}...${value.slice(-9)}` : JSON.stringify(value)}`,
      forge({ payload: value }),
    ),
  ),
  ...["[]", "null", '"RS256"', "", '["alg","RS256"]'].map((value) =>
    malformed(`the header ${JSON.stringify(value)}`, forge({ header: value })),
  ),
  accepted(
    "white space in the JSON",
    forge({ header: ' {\n"alg" :\t"RS256" } ', payload: `\r\n ${PAYLOAD} ` }),
  ),
];

const extensions: readonly TokenCase[] = [
  ...[["exp"], ["b64"], [], "exp", null, ["alg"], ["http://example.com/ext"]].map((crit) =>
    malformed(`crit ${JSON.stringify(crit)}`, withHeader({ crit, exp: 1 })),
  ),
  malformed('crit ["b64"] with b64 true', withHeader({ crit: ["b64"], b64: true })),
  malformed("b64 false, unencoded", seal(encode('{"alg":"RS256","b64":false,"crit":["b64"]}'), PAYLOAD)),
  malformed("b64 false without crit", withHeader({ b64: false })),
  malformed("b64 true", withHeader({ b64: true })),
  accepted("header parameters that may be ignored", withHeader({ x: { y: [1] }, cty: "JWT", zip: "DEF" })),
  row("type", "the typ of an ID token", withHeader({ typ: "id+jwt" })),
  row("type", "the typ of a logout token", withHeader({ typ: "logout+jwt" })),
  row("malformed", "an array as typ", withHeader({ typ: ["JWT"] })),
  ...["JWT", "jwt", "at+jwt", "application/at+jwt", "AT+JWT", undefined].map((typ) =>
    accepted(`typ ${String(typ)}`, withHeader({ typ })),
  ),
];

const deep = (depth: number, open = "[", close = "]"): string =>
  claimsJson(`"deep":${open.repeat(depth)}1${close.repeat(depth)}`);
const NESTED = `${"[".repeat(5_900)}${"]".repeat(5_900)}`;
const scopes = Array.from({ length: 100 * KB }, (_, index) => `agents:${index}:read`);
const many = forge({ payload: { scopes, aud: "agents-prod" } });
const roomy = { maxTokenBytes: 10_000 * KB };

const sizes: readonly TokenCase[] = [
  row("too_large", "ten megabytes", "a".repeat(10_000 * KB)),
  row("too_large", "ten megabytes, signed", claimsJson(`"x":"${"x".repeat(10_000 * KB)}"`)),
  row("too_large", "100,000 dots", ".".repeat(100 * KB)),
  row("malformed", "100,000 dots, with a higher size limit", ".".repeat(100 * KB), roomy),
  row("too_large", "a payload nested 100,000 deep", deep(100 * KB)),
  accepted("a payload nested 100,000 deep, with a higher size limit", deep(100 * KB), roomy),
  accepted("objects nested 100,000 deep, with a higher size limit", deep(100 * KB, '{"a":', "}"), roomy),
  malformed("10,000 arrays that are never closed", seal(header, encode("[".repeat(10 * KB)))),
  malformed(
    "5,000 arrays that are never closed, in the header",
    seal(encode(`{"alg":"RS256","x":${"[".repeat(5 * KB)}`), payload),
  ),
  row(
    "too_large",
    "10,000 arrays that are never closed, in the header",
    seal(encode(`{"alg":"RS256","x":${"[".repeat(10 * KB)}`), payload),
  ),
  row(
    "claims",
    "scopes nested as deep as the size permits",
    forge({ payload: `{"aud":"agents-prod","scopes":${NESTED}}` }),
  ),
  row(
    "audience",
    "aud nested as deep as the size permits",
    forge({ payload: `{"aud":${NESTED},"scopes":[]}` }),
  ),
  malformed(
    "a JWE with an expensive p2c",
    `${encode('{"alg":"PBES2-HS256+A128KW","p2c":999999999}')}.AAAA.AAAA.AAAA.AAAA`,
  ),
  row("too_large", "100,000 scopes", many),
  accepted("100,000 scopes, with a higher size limit", many, roomy),
  accepted(
    "100,000 scopes in one string",
    forge({ payload: { scopes: scopes.join(" "), aud: "agents-prod" } }),
    roomy,
  ),
  accepted("exactly the maximum size", token, { maxTokenBytes: token.length }),
  row("too_large", "one byte more than the maximum size", token, { maxTokenBytes: token.length - 1 }),
];

export const FORM_CASES: readonly TokenCase[] = [...parts, ...spelled, ...json, ...extensions, ...sizes];
