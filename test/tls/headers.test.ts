/**
 * The certificate in a header field of a proxy: each value is refused, or means exactly one certificate. The requests
 * are sent over raw sockets by a trusted peer, with a token that is bound to the certificate with the EC key.
 */
import { createServer } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { withScopes } from "scopegate/fetch";
import { principalOf, protect } from "scopegate/node";
import { type Answer, listen } from "../support/http.ts";
import { exchange, render } from "../support/raw-http.ts";
import { askTls } from "../support/tls-client.ts";
import { TLS_HOSTS, tlsOptionsOf } from "../support/tls-hosts.ts";
import { createCertificate, pemOf } from "../support/x509.ts";
import {
  ACCEPTED,
  byteSequenceOf,
  type CertificateHeader,
  certificates,
  closeAfterwards,
  closing,
  ec,
  escapedPemOf,
  type Guard,
  guardFor,
  hexHashOf,
  MISSING,
  odd,
  REJECTED,
  rsa,
  tokenFor,
} from "./setup.ts";

closeAfterwards();

type Format = CertificateHeader["format"];

/** Large enough for all fields here: the guard must refuse what the parser of Node.js would. */
const MAX_HEADER_SIZE = 1_000_000;

type Send = (...values: readonly string[]) => Promise<string>;

/** Serves with this format, and sends requests with one field for each value. */
function prepare(format: Format): { readonly send: Send; readonly sendUnbound: Send } {
  const header = format === "xfcc" ? "x-forwarded-client-cert" : "client-cert";
  const guard = guardFor({ header, format, trusted: ["127.0.0.1"] });
  let port = 0;
  beforeAll(async () => {
    port = await serve(guard);
  });
  const sendWith = async (token: string, values: readonly string[]): Promise<string> => {
    const fields = values.map((value): [string, string] => [header, value]);
    const text = await exchange(
      port,
      render("GET /agents/web HTTP/1.1", [
        ["Host", "api.example"],
        ["Connection", "close"],
        ["Authorization", `Bearer ${token}`],
        ...fields,
      ]),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
    const [, body = ""] = text.split("\r\n\r\n");
    const parsed: unknown = status === 200 ? JSON.parse(body) : undefined;
    return guard.verdictOn({ status, headers: {}, text, body: parsed });
  };
  return {
    send: async (...values) => sendWith(await tokenFor(ec), values),
    sendUnbound: async (...values) => sendWith(await tokenFor(), values),
  };
}

async function serve({ server }: Guard): Promise<number> {
  const isAllowed = protect(server);
  const http = createServer({ maxHeaderSize: MAX_HEADER_SIZE }, (request, response) => {
    void isAllowed(request, response).then((allowed) => {
      if (!allowed) return;
      const body = JSON.stringify({ binding: principalOf(request)?.binding });
      response.setHeader("content-length", Buffer.byteLength(body)).end(body);
    });
  });
  return closing(await listen(http)).port;
}

const BASE64 = ec.der.toString("base64");
const sequenceOf = (der: Buffer): string => byteSequenceOf({ der });
const EC_SEQUENCE = byteSequenceOf(ec);
const EC_PEM = escapedPemOf(ec);
const EC_HASH = hexHashOf(ec);
const RSA_HASH = hexHashOf(rsa);
const KILOBYTES_100 = 100_000;

/** The same certificate, with the length of its outer sequence in a longer form than DER allows. */
function withLongLength(der: Buffer): Buffer {
  const [tag = 0, form = 0] = der;
  return Buffer.concat([Buffer.from([tag, form + 1, 0]), der.subarray(2)]);
}

/** The same certificate, with an outer sequence of indefinite length (BER). */
const withIndefiniteLength = (der: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x30, 0x80]), der.subarray(4), Buffer.from([0, 0])]);

/** The longest certificate whose field is still read, and the next longer one. */
const LONG = createCertificate({ subject: "long", extra: Buffer.alloc(11_900) });
const TOO_LONG = createCertificate({ subject: "too-long", extra: Buffer.alloc(12_300) });

/** A certificate that contains another one as PEM, which parsers of both forms could find first. */
const CARRIER = createCertificate({ subject: "carrier", extra: Buffer.from(`\n${ec.pem}`) });

/** The Base64 of a text whose last character has unused bits that are not zero. */
function withUnusedBits(base64: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const [, content = "", last = "", padding = ""] = /^([^=]*)([^=])(=+)$/.exec(base64) ?? [];
  if (padding === "") throw new Error("The certificate must have a length that needs padding.");
  return `${content}${alphabet[alphabet.indexOf(last) + 1] ?? ""}${padding}`;
}

/** A certificate whose Base64 ends with `=`. */
function createPadded(): string {
  for (let length = 0; ; length += 1) {
    const base64 = createCertificate({ subject: "padded", extra: Buffer.alloc(length) }).der.toString(
      "base64",
    );
    if (base64.endsWith("=")) return base64;
  }
}

const PADDED = createPadded();
const UNPADDED = PADDED.replaceAll("=", "");

type Row = readonly [name: string, verdict: string, ...values: readonly string[]];

describe("rfc9440", () => {
  const { send, sendUnbound } = prepare("rfc9440");

  it.each<Row>([
    ["accepts the certificate of the token", ACCEPTED, EC_SEQUENCE],
    ["accepts white space around the value", ACCEPTED, ` \t${EC_SEQUENCE} \t`],
    ["misses a certificate without the field", MISSING],
    ["misses a certificate in an empty field", MISSING, ""],
    ["misses a certificate in a field of white space", MISSING, " \t "],
    ["rejects another certificate", REJECTED, byteSequenceOf(rsa)],
    ["rejects a certificate with an odd subject that is not the token's", REJECTED, byteSequenceOf(odd)],
    ["rejects two fields", REJECTED, EC_SEQUENCE, byteSequenceOf(rsa)],
    ["rejects two fields in the other order", REJECTED, byteSequenceOf(rsa), EC_SEQUENCE],
    ["rejects two equal fields", REJECTED, EC_SEQUENCE, EC_SEQUENCE],
    ["rejects an empty field in front of another", REJECTED, "", EC_SEQUENCE],
    ["rejects an empty field behind another", REJECTED, EC_SEQUENCE, ""],
    ["rejects joined fields", REJECTED, `${EC_SEQUENCE}, ${byteSequenceOf(rsa)}`],
    ["rejects joined equal fields", REJECTED, `${EC_SEQUENCE},${EC_SEQUENCE}`],
    ["rejects a list with one member and a comma", REJECTED, `${EC_SEQUENCE},`],
    ["rejects an inner list", REJECTED, `(${EC_SEQUENCE})`],
    ["rejects a parameter", REJECTED, `${EC_SEQUENCE};a=1`],
    ["rejects an empty byte sequence", REJECTED, "::"],
    ["rejects a single colon", REJECTED, ":"],
    ["rejects Base64 without colons", REJECTED, BASE64],
    ["rejects Base64 without the first colon", REJECTED, `${BASE64}:`],
    ["rejects Base64 without the last colon", REJECTED, `:${BASE64}`],
    ["rejects doubled colons", REJECTED, `:${EC_SEQUENCE}:`],
    ["rejects a string instead of a byte sequence", REJECTED, `"${BASE64}"`],
    ["rejects the name of a placeholder", REJECTED, ":{http.request.tls.client.certificate_der_base64}:"],
    ["rejects white space inside", REJECTED, `:${BASE64.slice(0, 64)} ${BASE64.slice(64)}:`],
    ["rejects white space behind the colon", REJECTED, `: ${BASE64}:`],
    ["rejects base64url", REJECTED, `:${ec.der.toString("base64url")}_:`],
    ["rejects characters outside of Base64", REJECTED, `:${BASE64.slice(0, 40)}*${BASE64.slice(41)}:`],
    ["rejects missing padding", REJECTED, `:${UNPADDED}:`],
    ["rejects more padding than needed", REJECTED, `:${BASE64}=:`],
    ["rejects padding inside", REJECTED, `:${BASE64.slice(0, 8)}=${BASE64.slice(8)}:`],
    ["rejects unused bits that are not zero", REJECTED, `:${withUnusedBits(PADDED)}:`],
    ["rejects percent-encoding", REJECTED, encodeURIComponent(EC_SEQUENCE)],
    ["rejects a byte behind the certificate", REJECTED, sequenceOf(Buffer.concat([ec.der, Buffer.of(0)]))],
    ["rejects a byte in front of it", REJECTED, sequenceOf(Buffer.concat([Buffer.of(0), ec.der]))],
    ["rejects two certificates in one sequence", REJECTED, sequenceOf(Buffer.concat([ec.der, rsa.der]))],
    ["rejects a certificate that is cut off", REJECTED, sequenceOf(ec.der.subarray(0, -1))],
    ["rejects half of a certificate", REJECTED, sequenceOf(ec.der.subarray(0, ec.der.length / 2))],
    ["rejects a length in a longer form", REJECTED, sequenceOf(withLongLength(ec.der))],
    ["rejects an indefinite length", REJECTED, sequenceOf(withIndefiniteLength(ec.der))],
    ["rejects the Base64 of a PEM", REJECTED, sequenceOf(Buffer.from(ec.pem))],
    ["rejects a PEM", REJECTED, EC_PEM],
    ["rejects the hash of the certificate", REJECTED, `:${Buffer.from(EC_HASH, "hex").toString("base64")}:`],
    ["rejects a certificate that contains the PEM of this one", REJECTED, byteSequenceOf(CARRIER)],
    ["rejects other bytes", REJECTED, sequenceOf(Buffer.from("certificate"))],
    ["rejects 100 kB of Base64", REJECTED, `:${"A".repeat(KILOBYTES_100)}:`],
    ["rejects 100 kB without a colon at the end", REJECTED, `:${"A".repeat(KILOBYTES_100)}`],
    ["rejects 100 kB of colons", REJECTED, ":".repeat(KILOBYTES_100)],
    [
      "rejects a certificate behind 100 kB of white space",
      REJECTED,
      `:${" ".repeat(KILOBYTES_100)}${EC_SEQUENCE}`,
    ],
    ["rejects a field of more than 16,384 characters", REJECTED, byteSequenceOf(TOO_LONG)],
    ["rejects characters that are not ASCII", REJECTED, `:${BASE64.slice(0, -1)}\u00e9:`],
  ])("%s", async (_name, verdict, ...values) => {
    expect(await send(...values)).toBe(verdict);
  });

  it("refuses folded lines, which Node.js or the guard does not read", async () => {
    const folded = `:${BASE64.slice(0, 64)}\r\n ${BASE64.slice(64)}:`;
    expect(await send(folded)).toMatch(/^40[01]/);
  });

  it("refuses a field whose name is followed by white space, or by another spelling", async () => {
    expect(await send(`${EC_SEQUENCE}\r\nclient_cert: ${byteSequenceOf(rsa)}`)).toBe(ACCEPTED);
    expect(await send(`${EC_SEQUENCE}\r\nclient-cert : ${byteSequenceOf(rsa)}`)).toMatch(/^40[01]/);
    expect(await send(`${EC_SEQUENCE}\r\nCLIENT-CERT: ${byteSequenceOf(rsa)}`)).toBe(REJECTED);
  });

  it("rejects a field with any mistake next to an unbound token, too", async () => {
    expect(await sendUnbound(EC_SEQUENCE)).toBe("200 undefined");
    expect(await sendUnbound(EC_SEQUENCE, EC_SEQUENCE)).toBe(REJECTED);
    expect(await sendUnbound("::")).toBe(REJECTED);
  });

  it("accepts a certificate of nearly 12 kB", async () => {
    const guard = guardFor({ header: "client-cert", format: "rfc9440", trusted: ["127.0.0.1"] });
    const port = await serve(guard);
    const fields = [
      ["Host", "api.example"],
      ["Connection", "close"],
      ["Authorization", `Bearer ${await tokenFor(LONG)}`],
      ["Client-Cert", byteSequenceOf(LONG)],
    ] as const;
    expect(await exchange(port, render("GET /agents/web HTTP/1.1", fields))).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("pem-urlencoded", () => {
  const { send } = prepare("pem-urlencoded");
  const escape = encodeURIComponent;
  const [begin, end] = ["-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n"];
  const LINES = ec.pem.slice(begin.length, -end.length);
  const everyByte = [...Buffer.from(ec.pem)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

  it.each<Row>([
    ["accepts the certificate of the token", ACCEPTED, EC_PEM],
    ["accepts a PEM without a line break at the end", ACCEPTED, escape(ec.pem.trimEnd())],
    ["accepts line breaks of Windows", ACCEPTED, escape(ec.pem.replaceAll("\n", "\r\n"))],
    ["accepts unescaped `+`, `/` and `=`", ACCEPTED, encodeURI(ec.pem)],
    ["accepts percent-encoding of every character", ACCEPTED, everyByte],
    ["accepts upper and lower case in percent-encoding", ACCEPTED, EC_PEM.replaceAll("%0A", "%0a")],
    ["misses a certificate without the field", MISSING],
    ["misses a certificate in an empty field", MISSING, ""],
    ["rejects another certificate", REJECTED, escapedPemOf(rsa)],
    ["rejects a certificate with an odd subject that is not the token's", REJECTED, escapedPemOf(odd)],
    ["rejects two fields", REJECTED, EC_PEM, escapedPemOf(rsa)],
    ["rejects two equal fields", REJECTED, EC_PEM, EC_PEM],
    ["rejects joined fields", REJECTED, `${EC_PEM}, ${escapedPemOf(rsa)}`],
    ["rejects a PEM with two certificates", REJECTED, escape(ec.pem + rsa.pem)],
    ["rejects a PEM with the same certificate twice", REJECTED, escape(ec.pem + ec.pem)],
    ["rejects a PEM with a certificate and a key", REJECTED, escape(ec.pem + ec.keyPem)],
    ["rejects a PEM with a key and a certificate", REJECTED, escape(ec.keyPem + ec.pem)],
    ["rejects text in front of the PEM", REJECTED, escape(`Subject: CN=client\n${ec.pem}`)],
    ["rejects text behind the PEM", REJECTED, escape(`${ec.pem}end\n`)],
    ["rejects a line break in front of the PEM", REJECTED, escape(`\n${ec.pem}`)],
    ["rejects two line breaks behind the PEM", REJECTED, escape(`${ec.pem}\n`)],
    ["rejects a NUL behind the PEM", REJECTED, `${EC_PEM}%00`],
    ["rejects headers inside the PEM", REJECTED, escape(`${begin}Proc-Type: 4,ENCRYPTED\n\n${LINES}${end}`)],
    ["rejects the label TRUSTED CERTIFICATE", REJECTED, escape(pemOf(ec.der, "TRUSTED CERTIFICATE"))],
    ["rejects the label X509 CERTIFICATE", REJECTED, escape(pemOf(ec.der, "X509 CERTIFICATE"))],
    ["rejects the label in lower case", REJECTED, escape(pemOf(ec.der, "certificate"))],
    ["rejects the label of a public key", REJECTED, escape(pemOf(ec.der, "PUBLIC KEY"))],
    ["rejects the label of PKCS #7", REJECTED, escape(pemOf(ec.der, "PKCS7"))],
    ["rejects different labels", REJECTED, escape(ec.pem.replace("END CERTIFICATE", "END X509 CERTIFICATE"))],
    ["rejects a PEM without its end", REJECTED, escape(begin + LINES)],
    ["rejects a PEM without its beginning", REJECTED, escape(LINES + end)],
    ["rejects a PEM without contents", REJECTED, escape(begin + end)],
    ["rejects a PEM with an empty line only", REJECTED, escape(`${begin}\n${end}`)],
    ["rejects spaces instead of line breaks", REJECTED, escape(ec.pem.replaceAll("\n", " "))],
    ["rejects unescaped spaces and tabs", REJECTED, ec.pem.trimEnd().replaceAll("\n", "\t")],
    ["rejects a carriage return alone", REJECTED, escape(ec.pem.replaceAll("\n", "\r"))],
    ["rejects `+` that became a space", REJECTED, escape(`${begin}${LINES.replace(/[A-Za-z]/, " ")}${end}`)],
    ["rejects other Unicode line breaks", REJECTED, escape(ec.pem.replaceAll("\n", "\u2028"))],
    ["rejects missing padding", REJECTED, escape(`${begin}${UNPADDED}\n${end}`)],
    ["rejects unused bits that are not zero", REJECTED, escape(`${begin}${withUnusedBits(PADDED)}\n${end}`)],
    ["rejects base64url", REJECTED, escape(`${begin}${ec.der.toString("base64url")}_\n${end}`)],
    ["rejects a byte behind the certificate", REJECTED, escape(pemOf(Buffer.concat([ec.der, Buffer.of(0)])))],
    ["rejects two certificates in one block", REJECTED, escape(pemOf(Buffer.concat([ec.der, rsa.der])))],
    ["rejects a certificate that is cut off", REJECTED, escape(pemOf(ec.der.subarray(0, -1)))],
    ["rejects a length in a longer form", REJECTED, escape(pemOf(withLongLength(ec.der)))],
    ["rejects a certificate that contains the PEM of this one", REJECTED, escapedPemOf(CARRIER)],
    ["rejects a PEM inside of a PEM", REJECTED, escape(pemOf(Buffer.from(ec.pem)))],
    ["rejects percent-encoding twice", REJECTED, escape(EC_PEM)],
    ["rejects a percent sign alone", REJECTED, `${EC_PEM}%`],
    ["rejects a percent sign without hex", REJECTED, `${EC_PEM}%zz`],
    ["rejects percent-encoding that is not UTF-8", REJECTED, `${EC_PEM}%E0%A4`],
    ["rejects an overlong form of UTF-8", REJECTED, EC_PEM.replace("%0A", "%C0%8A")],
    ["rejects percent-encoded white space only", REJECTED, "%20%09"],
    ["rejects a percent-encoded line break only", REJECTED, "%0A"],
    ["rejects a percent-encoded NUL only", REJECTED, "%00"],
    ["rejects `%` only", REJECTED, "%"],
    ["rejects a byte sequence of RFC 9440", REJECTED, EC_SEQUENCE],
    ["rejects Base64 without labels", REJECTED, BASE64],
    ["rejects `(null)`, `-` and other words for nothing", REJECTED, "(null)"],
    ["rejects 100 kB of percent-encoding", REJECTED, "%41".repeat(KILOBYTES_100 / 3)],
    ["rejects 100 kB of lines", REJECTED, escape(`${begin}${"A\n".repeat(KILOBYTES_100 / 4)}`)],
    ["rejects 100 kB of beginnings", REJECTED, escape(begin.repeat(KILOBYTES_100 / begin.length))],
  ])("%s", async (_name, verdict, ...values) => {
    expect(await send(...values)).toBe(verdict);
  });
});

describe("xfcc", () => {
  const { send } = prepare("xfcc");
  const BY = "By=spiffe://api.example/agents";
  const HASH = `Hash=${EC_HASH}`;
  const CERT = `Cert="${EC_PEM}"`;

  it.each<Row>([
    ["accepts the hash alone", ACCEPTED, HASH],
    [
      "accepts the example of Envoy's documentation, with this hash",
      ACCEPTED,
      `By=http://frontend.example;${HASH};Subject="/C=US/ST=CA/L=San Francisco/OU=Example/CN=Test Client";URI=http://client.example`,
    ],
    [
      "accepts all keys of Envoy",
      ACCEPTED,
      `${BY};${HASH};${CERT};Chain="${EC_PEM}";Subject="CN=client";URI=spiffe://client.example;DNS=client.example;DNS=www.client.example`,
    ],
    ["accepts the hash behind the other keys", ACCEPTED, `${BY};Subject="CN=client";${HASH}`],
    ["accepts an empty subject", ACCEPTED, `${HASH};Subject="";URI=`],
    ["accepts a hash in upper case", ACCEPTED, `Hash=${EC_HASH.toUpperCase()}`],
    ["accepts separators in quotes", ACCEPTED, `${HASH};Subject="CN=a,O=b;Hash=${RSA_HASH}"`],
    ["accepts escaped quotes", ACCEPTED, `${HASH};Subject="CN=\\";Hash=${RSA_HASH};X=\\""`],
    ["accepts escaped backslashes", ACCEPTED, `${HASH};Subject="CN=\\\\"`],
    ["accepts characters that are not ASCII in quotes", ACCEPTED, `${HASH};Subject="CN=M\u00fcller"`],
    ["accepts an unquoted value with an equals sign", ACCEPTED, `By=spiffe://a?b=c;${HASH};URI=d://e/f=g=`],
    ["misses a certificate without the field", MISSING],
    ["misses a certificate in an empty field", MISSING, ""],
    ["rejects the hash of another certificate", REJECTED, `${BY};Hash=${RSA_HASH}`],
    [
      "rejects the hash of another certificate whose subject contains this one",
      REJECTED,
      `Hash=${RSA_HASH};Subject="CN=x;${HASH}"`,
    ],
    [
      "rejects it with escaped quotes in the subject",
      REJECTED,
      `Hash=${RSA_HASH};Subject="CN=\\";${HASH};X=\\""`,
    ],
    [
      "rejects it with an escaped backslash and a quote in the subject",
      REJECTED,
      `Hash=${RSA_HASH};Subject="CN=\\\\";${HASH};X="\\""`,
    ],
    ["rejects the certificate without its hash", REJECTED, `${BY};${CERT}`],
    ["rejects an element without a hash", REJECTED, `${BY};Subject="CN=client"`],
    ["rejects two fields", REJECTED, HASH, `Hash=${RSA_HASH}`],
    ["rejects two equal fields", REJECTED, HASH, HASH],
    ["rejects two elements", REJECTED, `${BY};${HASH},${BY};Hash=${RSA_HASH}`],
    ["rejects two elements in the other order", REJECTED, `${BY};Hash=${RSA_HASH},${BY};${HASH}`],
    ["rejects two equal elements", REJECTED, `${HASH},${HASH}`],
    ["rejects elements with white space between them", REJECTED, `${HASH}, Hash=${RSA_HASH}`],
    ["rejects a comma at the end", REJECTED, `${HASH},`],
    ["rejects a comma at the beginning", REJECTED, `,${HASH}`],
    ["rejects a hash twice", REJECTED, `${HASH};Hash=${RSA_HASH}`],
    ["rejects the same hash twice", REJECTED, `${HASH};${HASH}`],
    ["rejects a hash twice, in different spellings", REJECTED, `${HASH};HASH=${RSA_HASH}`],
    [
      "rejects a URI of the certificate that adds a hash",
      REJECTED,
      `Hash=${RSA_HASH};URI=spiffe://a;${HASH}`,
    ],
    [
      "rejects a URI of the certificate that adds an element",
      REJECTED,
      `Hash=${RSA_HASH};URI=spiffe://a,${HASH}`,
    ],
    ["rejects a hash inside of an unquoted value", REJECTED, `By=spiffe://a?b=c;URI=${HASH}`],
    ["rejects quotes inside of an unquoted value", REJECTED, `By=spiffe://a?b="c;d";${HASH}`],
    ["rejects a hash in quotes", REJECTED, `Hash="${EC_HASH}"`],
    ["rejects an empty hash", REJECTED, "Hash="],
    ["rejects a hash that is too short", REJECTED, `Hash=${EC_HASH.slice(1)}`],
    ["rejects a hash that is too long", REJECTED, `Hash=${EC_HASH}0`],
    ["rejects a hash with colons", REJECTED, `Hash=${EC_HASH.match(/../g)?.join(":") ?? ""}`],
    ["rejects a hash in Base64", REJECTED, `Hash=${Buffer.from(EC_HASH, "hex").toString("base64url")}`],
    [
      "rejects a hash with a percent-encoded character",
      REJECTED,
      `Hash=%${EC_HASH.charCodeAt(0).toString(16)}${EC_HASH.slice(1)}`,
    ],
    ["rejects a hash with full-width digits", REJECTED, `Hash=${EC_HASH.slice(1)}\u00b2`],
    ["rejects white space around the equals sign", REJECTED, `Hash = ${EC_HASH}`],
    ["rejects white space behind a semicolon", REJECTED, `${BY}; ${HASH}`],
    ["rejects a semicolon at the end", REJECTED, `${HASH};`],
    ["rejects a semicolon at the beginning", REJECTED, `;${HASH}`],
    ["rejects two semicolons", REJECTED, `${BY};;${HASH}`],
    ["rejects a key without a value", REJECTED, `${HASH};Subject`],
    ["rejects a value without a key", REJECTED, `${HASH};="x"`],
    ["rejects quotes that do not end", REJECTED, `${HASH};Subject="CN=client`],
    ["rejects quotes that end with a backslash", REJECTED, `${HASH};Subject="CN=client\\"`],
    ["rejects text behind quotes", REJECTED, `${HASH};Subject="CN=client"x`],
    ["rejects quotes inside of a value", REJECTED, `${HASH};Subject=CN"client"`],
    ["rejects a key in quotes", REJECTED, `"Hash"=${EC_HASH}`],
    ["rejects a key with another character", REJECTED, `Hash*=${EC_HASH}`],
    ["rejects a byte sequence of RFC 9440", REJECTED, EC_SEQUENCE],
    ["rejects a hash without a key", REJECTED, EC_HASH],
    ["rejects 100 kB of pairs", REJECTED, `${"A=;".repeat(KILOBYTES_100 / 3)}${HASH}`],
    ["rejects 100 kB of quotes", REJECTED, `${HASH};Subject="${'\\"'.repeat(KILOBYTES_100 / 2)}`],
    ["rejects 100 kB of semicolons", REJECTED, ";".repeat(KILOBYTES_100)],
  ])("%s", async (_name, verdict, ...values) => {
    expect(await send(...values)).toBe(verdict);
  });
});

describe("a handler of the Fetch standard, whose requests have no socket", () => {
  const guardOf = (trusted: CertificateHeader["trusted"]): Guard =>
    guardFor({ header: "client-cert", format: "rfc9440", trusted });

  it.each<Row>([
    ["accepts the certificate of the token", ACCEPTED, EC_SEQUENCE],
    ["rejects another certificate", REJECTED, byteSequenceOf(rsa)],
    ["misses a certificate without the field", MISSING],
    ["rejects two fields, which are joined", REJECTED, EC_SEQUENCE, byteSequenceOf(rsa)],
    ["rejects two equal fields, which are joined", REJECTED, EC_SEQUENCE, EC_SEQUENCE],
    ["rejects an empty field in front of another", REJECTED, "", EC_SEQUENCE],
    ["rejects an empty field behind another", REJECTED, EC_SEQUENCE, ""],
  ])("%s, if everyone is trusted", async (_name, verdict, ...values) => {
    const guard = guardOf(() => true);
    const handle = withScopes(guard.server, () => Response.json({ binding: "mtls" }));
    const headers = new Headers({ authorization: `Bearer ${await tokenFor(ec)}` });
    for (const value of values) headers.append("client-cert", value);
    const response = await handle(new Request("https://api.example/agents/web", { headers }));
    expect(guard.verdictOn(await answerOf(response))).toBe(verdict);
  });

  it("throws for a list of networks, because there is no address", () => {
    expect(() => withScopes(guardOf(["0.0.0.0/0"]).server, () => new Response())).toThrow(TypeError);
  });
});

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, headers: {}, text, body: JSON.parse(text) };
}

const ON_PROTOCOLS = TLS_HOSTS.flatMap(({ name, protocols, start }) =>
  protocols.map((protocol) => ({ name, protocol, start })),
);

describe.each(ON_PROTOCOLS)("a field of a trusted proxy in $name with $protocol", ({ protocol, start }) => {
  it("reads one certificate, whatever the certificate of the proxy is", async () => {
    const trusted = ["127.0.0.0/8"];
    const guard = guardFor({ header: "client-cert", format: "rfc9440", trusted });
    const { port } = closing(await start(guard.server, tlsOptionsOf(certificates)));
    const proxy = { port, authority: certificates.authority, certificate: rsa, protocol };
    const token = await tokenFor(ec);
    const verdictOn = async (...values: readonly string[]): Promise<string> => {
      const headers = values.map((value) => ["client-cert", value] as const);
      return guard.verdictOn(await askTls({ ...proxy, token, headers }));
    };
    expect(await verdictOn(EC_SEQUENCE)).toBe(ACCEPTED);
    expect(await verdictOn()).toBe(MISSING);
    expect(await verdictOn(byteSequenceOf(rsa))).toBe(REJECTED);
    expect(await verdictOn(EC_SEQUENCE, byteSequenceOf(rsa))).toBe(REJECTED);
    expect(await verdictOn(EC_SEQUENCE, EC_SEQUENCE)).toBe(REJECTED);
    expect(await verdictOn(`${EC_SEQUENCE}, ${byteSequenceOf(rsa)}`)).toBe(REJECTED);
  });
});
