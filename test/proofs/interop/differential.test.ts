/** Requests that RFC 9449 says must be refused, judged by oauth4webapi, another implementation of it. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ATTACKS } from "../../security/proofs/attacks/index.ts";
import { type Attack, ISSUER, NOW, ORIGIN, type Sent, sentBy, TARGET } from "../../security/proofs/forge.ts";
import { jwkOf } from "../../security/tokens/forge.ts";
import { createOracle } from "./oracle.ts";

beforeAll(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 }));
afterAll(() => void vi.useRealTimers());

/** The oracle remembers no proofs, makes no nonces, and has no options for cookies and rules. */
const COMPARABLE = Object.values(ATTACKS)
  .flat()
  .filter(({ server, earlier, pollution }) => !server && !earlier && !pollution);

/** What only scopegate refuses, by the names of the attacks, and why. */
const STRICTER: readonly (readonly [name: RegExp, why: string])[] = [
  [/^duplicate /, "Parsers disagree about repeated names; the oracle uses JSON.parse, which keeps the last."],
  [/^unused bits /, "It's another spelling of the same bytes."],
  [/byte order mark$/, "JSON doesn't begin with one (RFC 8259 section 8.1)."],
  [/"(\\n|\u00a0)" (after|before) the proof$/, "Headers of the Fetch standard are trimmed."],
  [/12 KB$|8,192 bytes$|jti "(x{50,}|")/, "Sizes are limited, and an empty `jti` is the same each time."],
  [/^another key in |"b64":false/, "No other key is read from a proof, and no proof is unencoded."],
  [/^a key with {"(use|key_ops)"|an empty p$/, "The key says that it isn't for signatures, or is private."],
  [/^an Ed25519 key of low order/, "Anybody can sign for these keys."],
  [
    /iat 170000000[56]|^a proof that (expires now|isn't valid yet)$/,
    "The oracle tolerates clocks that differ by 30 s or more.",
  ],
  [/for the target https?:/, "The oracle compares with the URL of the request, scopegate with `origins`."],
  [/\uff41pi\.example/, "The oracle reads wide letters as the URL standard does."],
  [
    /the cnf {}, as Bearer$|where the rule requires a key$/,
    "The oracle has no rules, and reads no binding from an empty `cnf`.",
  ],
];

const oracle = createOracle({
  issuer: ISSUER,
  audience: "agents-prod",
  keys: [jwkOf("rsa", { alg: "RS256" })],
  algorithms: ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"],
});

const valuesIn = ({ fields }: Sent, name: string): readonly string[] =>
  fields.filter((field) => field[0].toLowerCase() === name).map(([, value]) => value);

const complaintAbout = (sent: Sent): Promise<string | undefined> =>
  oracle({
    method: sent.method ?? "GET",
    origin: ORIGIN,
    target: sent.target ?? TARGET,
    authorization: valuesIn(sent, "authorization").join(", ") || undefined,
    proofs: valuesIn(sent, "dpop"),
  });

it("accepts the request of an honest caller", async () => {
  expect(await complaintAbout(sentBy())).toBeUndefined();
});

it("refuses all that scopegate refuses, except for differences with a reason", async () => {
  expect(COMPARABLE.length).toBeGreaterThan(500);
  const isAccepted = async ({ send }: Attack) => (await complaintAbout(send([]))) === undefined;
  const accepted: string[] = [];
  for (const attack of COMPARABLE) if (await isAccepted(attack)) accepted.push(attack.name);
  expect(accepted.filter((name) => !STRICTER.some(([pattern]) => pattern.test(name)))).toEqual([]);
  for (const [pattern] of STRICTER)
    expect(
      accepted.some((name) => pattern.test(name)),
      String(pattern),
    ).toBe(true);
});
