/** The client's certificate, as its SHA-256 (RFC 8705 section 3.1). */
import { hash } from "node:crypto";
import { BlockList, isIP } from "node:net";
import { orUndefined } from "../../core/errors.ts";
import { type AccessRequest, headerOf, ownProperty } from "../../core/request.ts";

/** How a proxy writes the certificate into a header field. */
export type CertificateFormat = "rfc9440" | "pem-urlencoded" | "xfcc";

/** Where the certificate of a client is found. */
export type CertificateSource =
  | { readonly kind: "socket"; readonly needsSocket: true }
  | {
      readonly kind: "header";
      /** Whether the connection decides who is trusted. A function may not need it. */
      readonly needsSocket: boolean;
      /** In lower case. */
      readonly header: string;
      readonly format: CertificateFormat;
      readonly isTrusted: (socket: object) => boolean;
    };

/** The part of a connection that is read: a `TLSSocket`, or what the compatibility layer of HTTP/2 has. */
interface Connection {
  readonly remoteAddress?: unknown;
  readonly getPeerX509Certificate?: () => { readonly raw: Uint8Array } | undefined;
}

/** The thumbprint of the certificate, or why there is none. */
export type ClientCertificate =
  | { readonly kind: "certificate"; readonly thumbprint: string }
  | { readonly kind: "none" }
  | { readonly kind: "unusable"; readonly cause: string };

const NONE: ClientCertificate = { kind: "none" };
const unusable = (cause: string): ClientCertificate => ({ kind: "unusable", cause });

type Field = string | readonly string[] | undefined;

/** The certificate of a request. It can be read again after the connection has ended. */
export interface CertificateMemory {
  found: { readonly field: Field; readonly certificate: ClientCertificate } | undefined;
}

/** Reads the client's certificate. Its subject, issuer and dates aren't read. */
export function readClientCertificate(
  request: AccessRequest,
  source: CertificateSource,
  memory: CertificateMemory,
): ClientCertificate {
  const field = source.kind === "header" ? headerOf(request, source.header) : undefined;
  if (memory.found && memory.found.field === field) return memory.found.certificate;
  const { socket } = Object(ownProperty(request, "raw")) as { readonly socket?: unknown };
  const connection = Object(socket) as Connection;
  const certificate =
    source.kind === "socket" ? readSocket(connection) : readField(field, connection, source);
  if (certificate.kind === "certificate") memory.found = { field, certificate };
  return certificate;
}

function readField(
  field: Field,
  connection: Connection,
  { header, format, isTrusted }: Extract<CertificateSource, { readonly kind: "header" }>,
): ClientCertificate {
  if (field === undefined) return NONE;
  if (orUndefined(() => isTrusted(connection)) !== true)
    return unusable(
      `The header ${header} comes from a peer that isn't in \`trusted\`, or \`trusted\` threw.`,
    );
  if (typeof field !== "string") return unusable(`The request has several ${header} headers.`);
  // A proxy also sets the field, to an empty value, for clients without a certificate.
  if (field === "") return NONE;
  const thumbprint = field.length > MAX_FIELD ? undefined : FORMATS[format](field);
  if (thumbprint === undefined) return unusable(`The header ${header} isn't one certificate (${format}).`);
  return { kind: "certificate", thumbprint };
}

/**
 * The handshake proves that the client holds the key, even if the certificate is self-signed. The older
 * `getPeerCertificate` takes longer, because it renders every part.
 */
function readSocket(connection: Connection): ClientCertificate {
  const der = connection.getPeerX509Certificate?.()?.raw;
  return der ? { kind: "certificate", thumbprint: thumbprintOf(der) } : NONE;
}

const thumbprintOf = (der: Uint8Array): string => hash("sha256", der, "base64url");

/** Far larger than a certificate, and the default limit of Node.js for all headers together. */
const MAX_FIELD = 16_384;

/** Each returns the thumbprint of exactly one certificate. */
const FORMATS: Readonly<Record<CertificateFormat, (field: string) => string | undefined>> = {
  rfc9440: readByteSequence,
  "pem-urlencoded": readPem,
  xfcc: readForwardedElement,
};

/** A byte sequence between colons (RFC 9440 section 2.1, RFC 9651 section 3.3.5). */
function readByteSequence(field: string): string | undefined {
  const [, base64 = ""] = /^:([A-Za-z\d+/]+={0,2}):$/.exec(field) ?? [];
  return readBase64(base64);
}

/** `$ssl_client_escaped_cert` of nginx: a PEM with percent-encoding. */
function readPem(field: string): string | undefined {
  const pem = orUndefined(() => decodeURIComponent(field));
  const [, base64 = ""] = PEM.exec(pem ?? "") ?? [];
  return readBase64(base64.replaceAll(/\r?\n/g, ""));
}

const PEM = /^-----BEGIN CERTIFICATE-----\r?\n([A-Za-z\d+/=\r\n]+)-----END CERTIFICATE-----(?:\r?\n)?$/;

/**
 * Accepts only canonical base64, because a proxy writes nothing else. The bytes aren't parsed: that would
 * take most of the time, and only the right certificate has the right hash.
 */
function readBase64(base64: string): string | undefined {
  const der = Buffer.from(base64, "base64");
  return base64 !== "" && der.toString("base64") === base64 ? thumbprintOf(der) : undefined;
}

/**
 * Reads the `Hash` of the only element of `X-Forwarded-Client-Cert`, in hex. A second element would be from
 * another proxy, or from the client.
 */
function readForwardedElement(field: string): string | undefined {
  const pairs = [...`${field};`.matchAll(PAIR)];
  if (pairs.reduce((sum, [pair]) => sum + pair.length, 0) !== field.length + 1) return undefined;
  const hashes = pairs.filter(([, name]) => name?.toLowerCase() === "hash");
  const [, , hex = ""] = hashes.length === 1 ? (hashes[0] ?? []) : [];
  return /^[\da-f]{64}$/i.test(hex) ? Buffer.from(hex, "hex").toString("base64url") : undefined;
}

/** One `Name=value;`. Envoy puts only some values into quotes: it writes `URI=spiffe://a.example/b=c`. */
const PAIR = /([A-Za-z]+)=((?:[^",;\s]*)|"(?:[^"\\]|\\.)*");/gy;

/** Creates a check whether a peer's address is in one of the ranges: `10.0.0.0/8`, or one address. */
export function createAddressCheck(ranges: readonly string[]): (socket: object) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    list.addSubnet(address, Number(prefix ?? bitsOf(address)), family);
  }
  return (socket) => {
    const { remoteAddress } = socket as Connection;
    if (typeof remoteAddress !== "string") return false;
    const family = isIP(remoteAddress);
    // Ranges of IPv4 addresses also match IPv4-mapped IPv6 addresses.
    return family !== 0 && list.check(remoteAddress, family === 4 ? "ipv4" : "ipv6");
  };
}

const bitsOf = (address: string): number => (isIP(address) === 4 ? 32 : 128);

/** Returns whether a string is an address or a range. Leading zeros are octal numbers to some programs. */
export function isAddressRange(text: string): boolean {
  const [address = "", prefix, ...others] = text.split("/");
  if (isIP(address) === 0 || others.length > 0) return false;
  return prefix === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= bitsOf(address));
}
