import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  type CertificateFormat,
  type CertificateMemory,
  createAddressCheck,
  isAddressRange,
  readClientCertificate,
} from "../../../src/capabilities/sender-constraint/client-certificate.ts";

const DER = Buffer.from("not a certificate, whose bytes are not read");
const BASE64 = DER.toString("base64");
const THUMBPRINT = hash("sha256", DER, "base64url");
const HEX = hash("sha256", DER, "hex");
const PEM = `-----BEGIN CERTIFICATE-----\n${BASE64.slice(0, 40)}\n${BASE64.slice(40)}\n-----END CERTIFICATE-----\n`;

const sourceOf = (format: CertificateFormat) =>
  ({ kind: "header", header: "cert", format, needsSocket: false, isTrusted: () => true }) as const;

function thumbprintIn(format: CertificateFormat, cert: string): string | undefined {
  const request = { method: "GET", target: "/", headers: { cert } };
  const read = readClientCertificate(request, sourceOf(format), { found: undefined });
  return read.kind === "certificate" ? read.thumbprint : undefined;
}

describe("the certificate in a header", () => {
  it.each<[CertificateFormat, string]>([
    ["rfc9440", `:${BASE64}:`],
    ["pem-urlencoded", encodeURIComponent(PEM)],
    ["pem-urlencoded", encodeURIComponent(PEM.replaceAll("\n", "\r\n"))],
    ["pem-urlencoded", encodeURIComponent(PEM.trimEnd())],
    ["xfcc", `Hash=${HEX}`],
    ["xfcc", `hash=${HEX.toUpperCase()}`],
    ["xfcc", `By=spiffe://a;HASH=${HEX};Subject="CN=a,O=\\"b;c\\""`],
    ["xfcc", `Hash=${HEX};URI=;By="x=y"`],
    ["xfcc", `By=spiffe://a.example/ns=b;Hash=${HEX};URI=spiffe://a.example/b=c==`],
    ["xfcc", `Hash=${HEX};URI="spiffe://a.example/b,c;d=e";URI=spiffe://a.example/f`],
  ])("reads it as %s: %s", (format, field) => {
    expect(thumbprintIn(format, field)).toBe(THUMBPRINT);
  });

  it.each<[CertificateFormat, string]>([
    ["rfc9440", BASE64],
    ["rfc9440", `x:${BASE64}:`],
    ["rfc9440", `:${BASE64}:x`],
    ["rfc9440", "::"],
    ["rfc9440", `:${BASE64.replaceAll("=", "")}:`],
    ["rfc9440", `:${BASE64.slice(0, 8)}===:`],
    ["rfc9440", `:${BASE64}:, :${BASE64}:`],
    ["rfc9440", `:${BASE64.slice(0, 4)}-_==:`],
    ["pem-urlencoded", encodeURIComponent(`x${PEM}`)],
    ["pem-urlencoded", encodeURIComponent(`${PEM}x`)],
    ["pem-urlencoded", encodeURIComponent(PEM + PEM)],
    ["pem-urlencoded", encodeURIComponent(PEM.replace("CERTIFICATE-----\n", "CERTIFICATE-----"))],
    ["pem-urlencoded", encodeURIComponent(PEM.replaceAll("CERTIFICATE", "PUBLIC KEY"))],
    ["pem-urlencoded", `${encodeURIComponent(PEM)}%`],
    ["xfcc", `Hash=${HEX.slice(1)}`],
    ["xfcc", `Hash=${HEX}0`],
    ["xfcc", `Hash=g${HEX.slice(1)}`],
    ["xfcc", `Hash=${HEX};Hash=${HEX}`],
    ["xfcc", `Hash=${HEX},Hash=${HEX}`],
    ["xfcc", `Hash=${HEX};`],
    ["xfcc", `Hash=${HEX}=`],
    ["xfcc", `By=a;Hash=${HEX},By=b;URI=c`],
    ["xfcc", `By=a,By=b;Hash=${HEX}`],
    ["xfcc", `Hash=${HEX};URI=spiffe://a;Hash=${"0".repeat(64)}`],
    ["xfcc", `URI=Hash=${HEX}`],
    ["xfcc", `;Hash=${HEX}`],
    ["xfcc", `Subject="CN=a;Hash=${HEX}"`],
    ["xfcc", `By="a"b;Hash=${HEX}`],
    ["xfcc", `By=a b;Hash=${HEX}`],
    ["xfcc", `Hash=${HEX};1=2`],
  ])("does not read it as %s if it may mean something else: %s", (format, field) => {
    expect(thumbprintIn(format, field)).toBeUndefined();
  });

  it("does not read it from more than 16,384 characters", () => {
    const fill = (length: number) => `URI=${"a".repeat(length - 10 - HEX.length)};Hash=${HEX}`;
    expect(fill(16_384)).toHaveLength(16_384);
    expect(thumbprintIn("xfcc", fill(16_384))).toBe(THUMBPRINT);
    expect(thumbprintIn("xfcc", fill(16_385))).toBeUndefined();
  });
});

describe("the certificate of a connection", () => {
  const SOCKET = { kind: "socket", needsSocket: true } as const;
  const read = (raw?: object, memory: CertificateMemory = { found: undefined }) =>
    readClientCertificate({ method: "GET", target: "/", ...(raw && { raw }) }, SOCKET, memory);

  it("reads it from the socket", () => {
    expect(read({ socket: { getPeerX509Certificate: () => ({ raw: DER }) } })).toEqual({
      kind: "certificate",
      thumbprint: THUMBPRINT,
    });
  });

  it.each([
    undefined,
    {},
    { socket: null },
    { socket: "tls" },
    { socket: {} },
    { socket: { getPeerX509Certificate: () => undefined } },
  ])("reports it as missing without TLS or without a certificate: %j", (raw) => {
    expect(read(raw)).toEqual({ kind: "none" });
  });

  it("remembers it for a request whose connection has ended", () => {
    const memory = { found: undefined };
    const raw: { socket: object | null } = { socket: { getPeerX509Certificate: () => ({ raw: DER }) } };
    expect(read(raw, memory)).toMatchObject({ kind: "certificate" });
    raw.socket = null;
    expect(read(raw, memory)).toMatchObject({ kind: "certificate" });
    expect(read(raw)).toEqual({ kind: "none" });
  });

  it("does not remember it for another value of the header", () => {
    const [memory, source] = [{ found: undefined }, sourceOf("xfcc")];
    const readField = (cert: string) =>
      readClientCertificate({ method: "GET", target: "/", headers: { cert } }, source, memory).kind;
    expect([`Hash=${HEX}`, "Hash=x", "", `Hash=${HEX}`].map(readField)).toEqual([
      "certificate",
      "unusable",
      "none",
      "certificate",
    ]);
  });
});

describe("the addresses of trusted peers", () => {
  it.each([
    [["10.0.0.0/8"], "10.1.2.3", true],
    [["10.0.0.0/8"], "11.1.2.3", false],
    [["10.0.0.1"], "10.0.0.1", true],
    [["10.0.0.1"], "10.0.0.2", false],
    [["10.0.0.1"], "::ffff:10.0.0.1", true],
    [["fd00::/8"], "fd00::1", true],
    [["fd00::/8"], "fe00::1", false],
    [["::1"], "::1", true],
    [["192.168.0.0/16", "::1"], "192.168.3.4", true],
    [[], "10.0.0.1", false],
    [["0.0.0.0/0"], "", false],
    [["0.0.0.0/0"], "localhost", false],
    [["0.0.0.0/0"], undefined, false],
    [["0.0.0.0/0"], 167_772_161, false],
  ])("in %j include %j: %s", (ranges, remoteAddress, isTrusted) => {
    expect(createAddressCheck(ranges)({ remoteAddress })).toBe(isTrusted);
  });

  it.each(["10.0.0.1", "10.0.0.0/8", "10.0.0.0/0", "10.0.0.0/32", "::1", "fd00::/8", "fd00::/128"])(
    "accepts the form %s",
    (text) => expect(isAddressRange(text)).toBe(true),
  );

  it.each([
    "",
    "localhost",
    "10.0.0",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/x",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
    "10.0.0.0/0008",
    "10.0.0.0/08",
    "10.0.0.0/00",
    "fd00::/08",
    "010.0.0.0/8",
    "10.0.0.01",
    "::ffff:010.0.0.1",
    "fd00::/129",
    "/8",
  ])("rejects the form %j", (text) => expect(isAddressRange(text)).toBe(false));
});
