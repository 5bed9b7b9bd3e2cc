/**
 * Tokens with alg "none", confused algorithms, algorithms that are not configured, and every supported
 * algorithm.
 */
import { createSecretKey } from "node:crypto";
import { CERTIFICATE, TOKEN_OF_CERTIFICATE } from "../../support/certificate.ts";
import {
  forge,
  type KeyName,
  partsOf,
  pemOf,
  privateKeyOf,
  publicKeyOf,
  row,
  SECRET,
  type TokenCase,
  withHeader,
} from "./forge.ts";

const KEYS: readonly (readonly [string, KeyName])[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((name) => [name, "rsa"] as const),
  ["ES256", "p256"],
  ["ES384", "p384"],
  ["ES512", "p521"],
  ["EdDSA", "ed25519"],
  ["Ed25519", "ed25519"],
];

type Options = NonNullable<TokenCase["options"]>;
const options = (
  algorithm: string,
  ...verificationKeys: NonNullable<Options["verificationKeys"]>
): Options => ({
  algorithm: algorithm as NonNullable<Options["algorithm"]>,
  verificationKeys,
});
const signedBy = (alg: string, key: KeyName): string => forge({ alg, key: privateKeyOf(key) });

const honest: readonly TokenCase[] = [
  ...KEYS.map(([alg, key]) =>
    row("accepted", `${alg} as the configured algorithm`, signedBy(alg, key), options(alg, pemOf(key))),
  ),
  ...["HS256", "HS384", "HS512"].map((alg) =>
    row("accepted", `${alg} as the configured algorithm`, forge({ alg }), options(alg, SECRET)),
  ),
  ...KEYS.filter(([alg]) => !alg.startsWith("Ed")).map(([alg, key]) =>
    row("accepted", `${alg} as one of several configured algorithms`, signedBy(alg, key), {
      algorithms: KEYS.map(([name]) => name) as NonNullable<Options["algorithms"]>,
      verificationKeys: (["rsa", "p256", "p384", "p521", "ed25519"] as const).map(pemOf),
    }),
  ),
];

const unsigned = (alg: unknown, signature: string): string => {
  const [header, payload] = partsOf(withHeader({ alg }));
  return `${header}.${payload}.${signature}`;
};

const none: readonly TokenCase[] = [
  ...[
    ...["none", "None", "NONE", "nOnE", "NoNe", "nonE", "none ", " none", "none\0", "n\u043ene"],
    ...["\uff4e\uff4f\uff4e\uff45", "NULL", ""],
  ].flatMap((alg): TokenCase[] => [
    row("algorithm", `alg ${JSON.stringify(alg)} without a signature`, unsigned(alg, "")),
    row("algorithm", `alg ${JSON.stringify(alg)} with a dummy signature`, unsigned(alg, "AAAA")),
    row("algorithm", `alg ${JSON.stringify(alg)} with an RS256 signature`, withHeader({ alg })),
  ]),
  row("option_invalid", "alg none in the options", unsigned("none", ""), options("none", pemOf("rsa"))),
  row("algorithm", "alg RS256 without a signature", unsigned("RS256", "")),
  row("malformed", "no alg", withHeader({ alg: undefined })),
  ...[null, 256, true, ["RS256"], ["none"], { name: "RS256" }].map((alg) =>
    row("malformed", `alg ${JSON.stringify(alg)}`, withHeader({ alg })),
  ),
  row("malformed", "alg twice, the valid one last", forge({ header: '{"alg":"none","alg":"RS256"}' })),
  row("malformed", "alg twice, one with an escape", forge({ header: '{"\\u0061lg":"none","alg":"RS256"}' })),
];

const pem = pemOf("rsa");
const pkcs1 = publicKeyOf("rsa").export({ type: "pkcs1", format: "pem" }).toString();
const spellings: readonly (readonly [string, string | Uint8Array])[] = [
  ["as SPKI", pem],
  ["without its last line break", pem.trim()],
  ["after a space", ` ${pem}`],
  ["after a line break", `\n${pem}`],
  ["with CRLF", pem.replaceAll("\n", "\r\n")],
  ["with CR", pem.replaceAll("\n", "\r")],
  ["after a byte order mark", `\uFEFF${pem}`],
  ["with literal line breaks", pem.replaceAll("\n", "\\n")],
  ["on one line", pem.replaceAll("\n", "")],
  ["without its header and footer", pem.replaceAll(/-----[^-]+-----|\n/g, "")],
  ["as PKCS#1", pkcs1],
  ["as PKCS#1 with CRLF", pkcs1.replaceAll("\n", "\r\n")],
  ["as a certificate", CERTIFICATE],
  ["as a certificate after a space", ` ${CERTIFICATE}`],
  ["as DER", publicKeyOf("rsa").export({ type: "spki", format: "der" })],
  ["as DER of PKCS#1", publicKeyOf("rsa").export({ type: "pkcs1", format: "der" })],
  ["as JWK", JSON.stringify(publicKeyOf("rsa").export({ format: "jwk" }))],
  ["as indented JWK", JSON.stringify(publicKeyOf("rsa").export({ format: "jwk" }), null, 2)],
];

const confused: readonly TokenCase[] = [
  ...spellings.flatMap(([spelling, bytes]): TokenCase[] => {
    const name = `the public key ${spelling}, used as an HMAC secret`;
    const hmac = { alg: "HS256", key: bytes };
    const secret = typeof bytes === "string" ? bytes : createSecretKey(bytes);
    return [
      row("algorithm", name, forge(hmac)),
      row("signature", `${name}, with alg RS256`, forge({ ...hmac, header: { alg: "RS256" } })),
      row("key_unusable", `${name}, with HS256 configured`, forge(hmac), options("HS256", secret)),
    ];
  }),
  row("accepted", "the certificate as the configured key", TOKEN_OF_CERTIFICATE, {
    verificationKeys: [CERTIFICATE],
  }),
  row("algorithms_mixed", "HS256 and RS256 configured together", forge(), {
    algorithms: ["RS256", "HS256"],
    verificationKeys: [pem],
  }),
  // `sub` is the first of these secrets.
  ...["user-1", "", "a secret that the forger has written into the token"].map((kid) =>
    row(
      "signature",
      `an HMAC with a secret that the token contains: ${JSON.stringify(kid)}`,
      forge({ alg: "HS256", key: kid, header: { alg: "HS256", kid } }),
      options("HS256", SECRET),
    ),
  ),
  row("algorithm", "an HMAC where RS256 is configured", forge({ alg: "HS256" })),
  row("algorithm", "an RSA signature where HS256 is configured", forge(), options("HS256", SECRET)),
  row("signature", "alg HS256 and an RSA signature", withHeader({ alg: "HS256" }), options("HS256", SECRET)),
];

const ed25519 = options("Ed25519", pemOf("ed25519"));
const SIMILAR = ["rs256", "RS256 ", " RS256", "RS-256", "RS256\0", "RS2560"];

const mixed: readonly TokenCase[] = [
  ...(["RS256 PS256", "PS256 RS256", "RS256 RS512", "RS512 RS256", "PS256 PS384"] as const).map((pair) => {
    const [made = "", named = ""] = pair.split(" ");
    return row(
      "signature",
      `a signature by ${made} and alg ${named}, both configured`,
      forge({ alg: made, header: { alg: named } }),
      { algorithms: [made, named] as NonNullable<Options["algorithms"]> },
    );
  }),
  row("algorithm", "PS256 where RS256 is configured", forge({ alg: "PS256" })),
  row("algorithm", "RS256 where PS256 is configured", forge(), options("PS256", pem)),
  row(
    "algorithm",
    "Ed25519 where EdDSA is configured",
    signedBy("Ed25519", "ed25519"),
    options("EdDSA", pemOf("ed25519")),
  ),
  row("algorithm", "EdDSA where Ed25519 is configured", signedBy("EdDSA", "ed25519"), ed25519),
  row("algorithm", "HS512 where HS256 is configured", forge({ alg: "HS512" }), options("HS256", SECRET)),
  row(
    "signature",
    "a signature by HS256 and alg HS512",
    forge({ alg: "HS256", header: { alg: "HS512" } }),
    options("HS512", SECRET),
  ),
  row("signature", "ES256 with another curve", signedBy("ES256", "k256"), options("ES256", pemOf("p256"))),
  ...[...SIMILAR, "__proto__", "constructor", "dir", "RSA-OAEP", "ES256K"].map((alg) =>
    row("algorithm", `alg ${JSON.stringify(alg)} with an RS256 signature`, withHeader({ alg })),
  ),
];

export const ALGORITHM_CASES: readonly TokenCase[] = [...honest, ...none, ...confused, ...mixed];
