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
  SECRET,
  type TokenCase,
  withHeader,
} from "./forge.ts";

const KEYS: readonly (readonly [string, KeyName])[] = [
  ["RS256", "rsa"],
  ["RS384", "rsa"],
  ["RS512", "rsa"],
  ["PS256", "rsa"],
  ["PS384", "rsa"],
  ["PS512", "rsa"],
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
  ...KEYS.map(([alg, key]) => ({
    name: `${alg} as the configured algorithm`,
    token: signedBy(alg, key),
    options: options(alg, pemOf(key)),
    expected: "accepted",
  })),
  ...["HS256", "HS384", "HS512"].map((alg) => ({
    name: `${alg} as the configured algorithm`,
    token: forge({ alg, key: SECRET }),
    options: options(alg, SECRET),
    expected: "accepted",
  })),
  ...KEYS.filter(([alg]) => !alg.startsWith("Ed")).map(([alg, key]) => ({
    name: `${alg} as one of several configured algorithms`,
    token: signedBy(alg, key),
    options: {
      algorithms: KEYS.map(([name]) => name) as NonNullable<Options["algorithms"]>,
      verificationKeys: (["rsa", "p256", "p384", "p521", "ed25519"] as const).map(pemOf),
    },
    expected: "accepted",
  })),
];

const unsigned = (alg: unknown, signature: string): string => {
  const [header, payload] = partsOf(withHeader({ alg }));
  return `${header}.${payload}.${signature}`;
};

const none: readonly TokenCase[] = [
  ...[
    "none",
    "None",
    "NONE",
    "nOnE",
    "NoNe",
    "nonE",
    "none ",
    " none",
    "none\0",
    "n\u043ene",
    "\uff4e\uff4f\uff4e\uff45",
    "NULL",
    "",
  ].flatMap((alg): TokenCase[] => [
    {
      name: `alg ${JSON.stringify(alg)} without a signature`,
      token: unsigned(alg, ""),
      expected: "algorithm",
    },
    {
      name: `alg ${JSON.stringify(alg)} with a dummy signature`,
      token: unsigned(alg, "AAAA"),
      expected: "algorithm",
    },
    {
      name: `alg ${JSON.stringify(alg)} with an RS256 signature`,
      token: withHeader({ alg }),
      expected: "algorithm",
    },
  ]),
  {
    name: "alg none in the options",
    token: unsigned("none", ""),
    options: options("none", pemOf("rsa")),
    expected: "option_invalid",
  },
  { name: "alg RS256 without a signature", token: unsigned("RS256", ""), expected: "algorithm" },
  { name: "no alg", token: withHeader({ alg: undefined }), expected: "malformed" },
  ...[null, 256, true, ["RS256"], ["none"], { name: "RS256" }].map((alg) => ({
    name: `alg ${JSON.stringify(alg)}`,
    token: withHeader({ alg }),
    expected: "malformed",
  })),
  {
    name: "alg twice, the valid one last",
    token: forge({ header: '{"alg":"none","alg":"RS256"}' }),
    expected: "malformed",
  },
  {
    name: "alg twice, one with an escape",
    token: forge({ header: '{"\\u0061lg":"none","alg":"RS256"}' }),
    expected: "malformed",
  },
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
    return [
      { name, token: forge({ alg: "HS256", key: bytes }), expected: "algorithm" },
      {
        name: `${name}, with alg RS256`,
        token: forge({ alg: "HS256", key: bytes, header: { alg: "RS256" } }),
        expected: "signature",
      },
      {
        name: `${name}, with HS256 configured`,
        token: forge({ alg: "HS256", key: bytes }),
        options: options("HS256", typeof bytes === "string" ? bytes : createSecretKey(bytes)),
        expected: "key_unusable",
      },
    ];
  }),
  {
    name: "the certificate as the configured key",
    token: TOKEN_OF_CERTIFICATE,
    options: { verificationKeys: [CERTIFICATE] },
    expected: "accepted",
  },
  {
    name: "HS256 and RS256 configured together",
    token: forge(),
    options: { algorithms: ["RS256", "HS256"], verificationKeys: [pem] },
    expected: "algorithms_mixed",
  },
  {
    name: "an HMAC where RS256 is configured",
    token: forge({ alg: "HS256", key: SECRET }),
    expected: "algorithm",
  },
  {
    name: "an RSA signature where HS256 is configured",
    token: forge(),
    options: options("HS256", SECRET),
    expected: "algorithm",
  },
  {
    name: "alg HS256 and an RSA signature",
    token: withHeader({ alg: "HS256" }),
    options: options("HS256", SECRET),
    expected: "signature",
  },
];

const mixed: readonly TokenCase[] = [
  ...(["RS256 PS256", "PS256 RS256", "RS256 RS512", "RS512 RS256", "PS256 PS384"] as const).map((pair) => {
    const [made = "", named = ""] = pair.split(" ");
    return {
      name: `a signature by ${made} and alg ${named}, both configured`,
      token: forge({ alg: made, header: { alg: named } }),
      options: { algorithms: [made, named] as NonNullable<Options["algorithms"]> },
      expected: "signature",
    };
  }),
  { name: "PS256 where RS256 is configured", token: forge({ alg: "PS256" }), expected: "algorithm" },
  {
    name: "RS256 where PS256 is configured",
    token: forge(),
    options: options("PS256", pem),
    expected: "algorithm",
  },
  {
    name: "EdDSA where Ed25519 is configured",
    token: signedBy("EdDSA", "ed25519"),
    options: options("Ed25519", pemOf("ed25519")),
    expected: "algorithm",
  },
  {
    name: "HS512 where HS256 is configured",
    token: forge({ alg: "HS512", key: SECRET }),
    options: options("HS256", SECRET),
    expected: "algorithm",
  },
  {
    name: "a signature by HS256 and alg HS512",
    token: forge({ alg: "HS256", key: SECRET, header: { alg: "HS512" } }),
    options: options("HS512", SECRET),
    expected: "signature",
  },
  {
    name: "ES256 with another curve",
    token: forge({ alg: "ES256", key: privateKeyOf("k256") }),
    options: options("ES256", pemOf("p256")),
    expected: "signature",
  },
  ...[
    "rs256",
    "RS256 ",
    " RS256",
    "RS-256",
    "RS256\0",
    "RS2560",
    "__proto__",
    "constructor",
    "dir",
    "RSA-OAEP",
    "ES256K",
  ].map((alg) => ({
    name: `alg ${JSON.stringify(alg)} with an RS256 signature`,
    token: withHeader({ alg }),
    expected: "algorithm",
  })),
];

export const ALGORITHM_CASES: readonly TokenCase[] = [...honest, ...none, ...confused, ...mixed];
