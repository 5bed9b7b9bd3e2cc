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
const [BEGIN, END] = ["-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n"];
const LINES = `${BASE64.slice(0, 40)}\n${BASE64.slice(40)}\n`;
const PEM = BEGIN + LINES + END;
const EVERY_BYTE = [...Buffer.from(PEM)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
/** Another spelling of the same bytes: unused bits that are not zero. */
const UNUSED_BITS = `${BASE64.slice(0, -3)}${String.fromCharCode(BASE64.charCodeAt(BASE64.length - 3) + 1)}==`;
const OTHER_HEX = hash("sha256", "another", "hex");
const escape = encodeURIComponent;

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
    ["pem-urlencoded", escape(PEM)],
    ["pem-urlencoded", escape(PEM.replaceAll("\n", "\r\n"))],
    ["pem-urlencoded", escape(PEM.trimEnd())],
    ["pem-urlencoded", encodeURI(PEM)],
    ["pem-urlencoded", EVERY_BYTE],
    ["xfcc", `Hash=${HEX}`],
    ["xfcc", `hash=${HEX.toUpperCase()}`],
    ["xfcc", `By=spiffe://a;HASH=${HEX};Subject="CN=a,O=\\"b;c\\""`],
    ["xfcc", `Hash=${HEX};URI=;By="x=y"`],
    ["xfcc", `By=spiffe://a.example/ns=b;Hash=${HEX};URI=spiffe://a.example/b=c==`],
    ["xfcc", `Hash=${HEX};URI="spiffe://a.example/b,c;d=e";URI=spiffe://a.example/f`],
    [
      "xfcc",
      `Hash=${HEX};Subject="/C=US/L=San Francisco/CN=a";Cert="${escape(PEM)}";DNS=a.example;DNS=b.example`,
    ],
    ["xfcc", `Hash=${HEX};Subject="CN=a,O=b;Hash=${OTHER_HEX}"`],
    ["xfcc", `Hash=${HEX};Subject="CN=\\";Hash=${OTHER_HEX};X=\\""`],
    ["xfcc", `Hash=${HEX};Subject="CN=\\\\"`],
    ["xfcc", `Hash=${HEX};Subject="CN=M\u00fcller"`],
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
    ["rfc9440", `:${UNUSED_BITS}:`],
    ["rfc9440", `:${BASE64.slice(0, 8)} ${BASE64.slice(8)}:`],
    ["rfc9440", `"${BASE64}"`],
    ["rfc9440", `(:${BASE64}:)`],
    ["rfc9440", `:${BASE64}:;a=1`],
    ["rfc9440", escape(`:${BASE64}:`)],
    ["rfc9440", escape(PEM)],
    ["rfc9440", ":{http.request.tls.client.certificate_der_base64}:"],
    ["pem-urlencoded", escape(`x${PEM}`)],
    ["pem-urlencoded", escape(`${PEM}x`)],
    ["pem-urlencoded", escape(PEM + PEM)],
    ["pem-urlencoded", escape(PEM.replace("CERTIFICATE-----\n", "CERTIFICATE-----"))],
    ["pem-urlencoded", escape(PEM.replaceAll("CERTIFICATE", "PUBLIC KEY"))],
    ["pem-urlencoded", `${escape(PEM)}%`],
    ["pem-urlencoded", `${escape(PEM)}%00`],
    ["pem-urlencoded", `${escape(PEM)}%E0%A4`],
    ["pem-urlencoded", escape(PEM).replace("%0A", "%C0%8A")],
    ["pem-urlencoded", escape(escape(PEM))],
    ["pem-urlencoded", escape(`Subject: CN=client\n${PEM}`)],
    ["pem-urlencoded", escape(`\n${PEM}`)],
    ["pem-urlencoded", escape(`${PEM}\n`)],
    ["pem-urlencoded", escape(`${PEM}-----BEGIN PRIVATE KEY-----\n${LINES}-----END PRIVATE KEY-----\n`)],
    ["pem-urlencoded", escape(`${BEGIN}Proc-Type: 4,ENCRYPTED\n\n${LINES}${END}`)],
    ["pem-urlencoded", escape(PEM.replaceAll("CERTIFICATE", "TRUSTED CERTIFICATE"))],
    ["pem-urlencoded", escape(PEM.toLowerCase())],
    ["pem-urlencoded", escape(PEM.replace("END CERTIFICATE", "END X509 CERTIFICATE"))],
    ["pem-urlencoded", escape(BEGIN + LINES)],
    ["pem-urlencoded", escape(LINES + END)],
    ["pem-urlencoded", escape(BEGIN + END)],
    ["pem-urlencoded", escape(`${BEGIN}\n${END}`)],
    ["pem-urlencoded", escape(PEM.replaceAll("\n", " "))],
    ["pem-urlencoded", escape(PEM.replaceAll("\n", "\r"))],
    ["pem-urlencoded", escape(BEGIN + LINES.replace(/[A-Za-z]/, " ") + END)],
    ["pem-urlencoded", escape(BEGIN + LINES.replaceAll("=", "") + END)],
    ["pem-urlencoded", escape(`${BEGIN}${UNUSED_BITS}\n${END}`)],
    ["pem-urlencoded", `:${BASE64}:`],
    ["pem-urlencoded", "(null)"],
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
    ["xfcc", `Hash=${HEX};HASH=${OTHER_HEX}`],
    ["xfcc", `Hash=${HEX}, Hash=${OTHER_HEX}`],
    ["xfcc", `Hash="${HEX}"`],
    ["xfcc", `Hash = ${HEX}`],
    ["xfcc", `Hash=${HEX.match(/../g)?.join(":") ?? ""}`],
    ["xfcc", `Hash=${THUMBPRINT}`],
    ["xfcc", `By=a;;Hash=${HEX}`],
    ["xfcc", `By=a; Hash=${HEX}`],
    ["xfcc", `Hash=${HEX};Subject`],
    ["xfcc", `Hash=${HEX};Subject="CN=a`],
    ["xfcc", `Hash=${HEX};Subject="CN=a\\"`],
    ["xfcc", `By=a?b="c;d";Hash=${HEX}`],
    ["xfcc", `By=a;Cert="${escape(PEM)}"`],
    ["xfcc", HEX],
  ])("does not read it as %s if it may mean something else: %s", (format, field) => {
    expect(thumbprintIn(format, field)).toBeUndefined();
  });

  it.each<readonly [string, string]>([
    ["in the subject", `Hash=${OTHER_HEX};Subject="CN=x;Hash=${HEX}"`],
    ["behind escaped quotes", `Hash=${OTHER_HEX};Subject="CN=\\";Hash=${HEX};X=\\""`],
  ])("reads the hash of the element, and none that a client writes %s", (_, field) => {
    expect(thumbprintIn("xfcc", field)).toBe(Buffer.from(OTHER_HEX, "hex").toString("base64url"));
  });

  it("hashes all bytes, so two certificates in one value are another one", () => {
    const value = Buffer.concat([DER, DER]).toString("base64");
    expect(thumbprintIn("rfc9440", `:${value}:`)).not.toBe(THUMBPRINT);
    expect(thumbprintIn("pem-urlencoded", escape(`${BEGIN}${value}\n${END}`))).not.toBe(THUMBPRINT);
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
    [["10.0.0.0/31"], "10.0.0.1", true],
    [["10.0.0.0/32"], "10.0.0.1", false],
    [["0.0.0.0/0"], "::1", false],
    [["::/0"], "127.0.0.1", true],
    [["::2/127"], "::1", false],
    [["0:0:0:0:0:0:0:1"], "::1", true],
    [["::ffff:127.0.0.0/104", "::ffff:7f00:1"], "::ffff:127.0.0.1", true],
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
    "10.0.0.0/255.0.0.0",
    "0177.0.0.1",
    "127.0.0.1:80",
    " 127.0.0.1",
  ])("rejects the form %j", (text) => expect(isAddressRange(text)).toBe(false));
});
