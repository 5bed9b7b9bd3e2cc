/** X.509 certificates that a test makes: authorities, servers and clients. Nothing is written to a file. */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { generateKey } from "../../src/tools/testing/test-key.ts";

export interface TestCertificate {
  readonly der: Buffer;
  readonly pem: string;
  readonly privateKey: KeyObject;
  readonly keyPem: string;
  /** `x5t#S256` of RFC 8705 section 3.1. */
  readonly thumbprint: string;
  readonly name: Buffer;
}

export interface CertificateOptions {
  /** The common name, or several attributes of the subject in their order. */
  readonly subject: string | readonly (readonly [attribute: Attribute, value: string])[];
  readonly key?: "ec" | "rsa";
  /** Who signs it. Without one, the certificate is self-signed. */
  readonly issuer?: TestCertificate;
  readonly isAuthority?: boolean;
  /** The names of a server, and 127.0.0.1. */
  readonly serverNames?: readonly string[];
  /** The contents of an extension that nobody must understand. */
  readonly extra?: Buffer;
}

type Attribute = keyof typeof ATTRIBUTES;

const ATTRIBUTES = { CN: "2.5.4.3", O: "2.5.4.10", OU: "2.5.4.11", L: "2.5.4.7", C: "2.5.4.6" } as const;

/** A value of DER (X.690): the tag, the length, the contents. */
function value(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length]), bytes, content]);
}

const sequence = (...contents: readonly Buffer[]): Buffer => value(0x30, ...contents);
const octets = (...contents: readonly Buffer[]): Buffer => value(0x04, ...contents);
const bits = (content: Buffer): Buffer => value(0x03, Buffer.from([0]), content);
const integer = (bytes: Buffer): Buffer => value(0x02, bytes);
const time = (text: string): Buffer => value(0x17, Buffer.from(text));
const TRUE = Buffer.from([0x01, 0x01, 0xff]);
const NULL = Buffer.from([0x05, 0x00]);

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  const bytes = others.flatMap((part) => {
    const groups = [part & 0x7f];
    for (let rest = part >> 7; rest > 0; rest >>= 7) groups.unshift(0x80 | (rest & 0x7f));
    return groups;
  });
  return value(0x06, Buffer.from([first * 40 + second, ...bytes]));
}

function nameOf(subject: CertificateOptions["subject"]): Buffer {
  const attributes = typeof subject === "string" ? [["CN", subject] as const] : subject;
  return sequence(
    ...attributes.map(([attribute, text]) =>
      value(0x31, sequence(objectId(ATTRIBUTES[attribute]), value(0x0c, Buffer.from(text)))),
    ),
  );
}

const algorithmOf = (key: KeyObject): Buffer =>
  key.asymmetricKeyType === "rsa"
    ? sequence(objectId("1.2.840.113549.1.1.11"), NULL)
    : sequence(objectId("1.2.840.10045.4.3.2"));

function extensionsOf({ isAuthority, serverNames, extra }: CertificateOptions): readonly Buffer[] {
  const extensions: Buffer[] = [];
  const add = (id: string, isCritical: boolean, content: Buffer): void => {
    extensions.push(sequence(objectId(id), ...(isCritical ? [TRUE] : []), octets(content)));
  };
  if (isAuthority) add("2.5.29.19", true, sequence(TRUE));
  if (serverNames) {
    const names = serverNames.map((name) => value(0x82, Buffer.from(name)));
    add("2.5.29.17", false, sequence(...names, value(0x87, Buffer.from([127, 0, 0, 1]))));
  }
  // An object identifier for examples (RFC 5612).
  if (extra) add("1.3.6.1.4.1.32473.1", false, octets(extra));
  return extensions.length === 0 ? [] : [value(0xa3, sequence(...extensions))];
}

/** Creates a certificate, valid until 2049, and its key. */
export function createCertificate(options: CertificateOptions): TestCertificate {
  const { subject, key = "ec", issuer } = options;
  const privateKey =
    key === "ec" ? generateKey("ec", { namedCurve: "P-256" }) : generateKey("rsa", { modulusLength: 2048 });
  const signingKey = issuer?.privateKey ?? privateKey;
  const name = nameOf(subject);
  const toBeSigned = sequence(
    value(0xa0, integer(Buffer.from([2]))),
    // Positive, and without a leading zero.
    integer(Buffer.concat([Buffer.from([0x51]), randomBytes(15)])),
    algorithmOf(signingKey),
    issuer?.name ?? name,
    sequence(time("200101000000Z"), time("491231235959Z")),
    name,
    createPublicKey(privateKey).export({ format: "der", type: "spki" }),
    ...extensionsOf(options),
  );
  const der = sequence(toBeSigned, algorithmOf(signingKey), bits(sign("sha256", toBeSigned, signingKey)));
  return {
    der,
    pem: pemOf(der),
    privateKey,
    keyPem: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    thumbprint: createHash("sha256").update(der).digest("base64url"),
    name,
  };
}

/** Renders bytes as PEM (RFC 7468), in lines of 64 characters. */
function pemOf(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

export interface Certificates {
  readonly authority: TestCertificate;
  /** For `api.example` and 127.0.0.1. */
  readonly server: TestCertificate;
  /** Clients of the authority. */
  readonly ec: TestCertificate;
  readonly rsa: TestCertificate;
  /** A client whose subject needs quotes and escapes in most formats. */
  readonly odd: TestCertificate;
  /** A client that no authority has signed. */
  readonly selfSigned: TestCertificate;
}

/** Creates an authority, and the certificates of a server and of several clients. */
export function createCertificates(): Certificates {
  const authority = createCertificate({ subject: "Authority of tests", isAuthority: true });
  const issuer = authority;
  return {
    authority,
    server: createCertificate({ subject: "api.example", issuer, serverNames: ["api.example", "localhost"] }),
    ec: createCertificate({ subject: "client-ec", issuer }),
    rsa: createCertificate({ subject: "client-rsa", issuer, key: "rsa" }),
    odd: createCertificate({ subject: ODD_SUBJECT, issuer }),
    selfSigned: createCertificate({ subject: "client-self-signed" }),
  };
}

/** Characters that end or quote a value in distinguished names, in header fields and in structured fields. */
const ODD_SUBJECT = [
  ["C", "DE"],
  ["O", 'Müller, Söhne; "Co" = <GmbH> \\ :Zürich:'],
  ["OU", "-----BEGIN CERTIFICATE-----\r\nClient-Cert: ::"],
  ["CN", '日本 ,;Hash=00;Cert="%0A",By=x'],
] as const;
