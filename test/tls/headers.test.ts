/**
 * The certificate in a header field of a proxy, as HTTP carries it. The requests are sent over raw sockets by a trusted
 * peer, with a token that is bound to the certificate with the EC key. Each format is tested with its parser.
 */
import { createServer } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { withScopes } from "scopegate/fetch";
import { principalOf, protect } from "scopegate/node";
import { type Answer, listen } from "../support/http.ts";
import { exchange, render } from "../support/raw-http.ts";
import { askTls } from "../support/tls-client.ts";
import { TLS_HOSTS, tlsOptionsOf } from "../support/tls-hosts.ts";
import { createCertificate, type TestCertificate } from "../support/x509.ts";
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
      render("GET /stores/berlin HTTP/1.1", [
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
const KILOBYTES_100 = 100_000;

/** The longest certificate whose field is still read, and the next longer one. */
const LONG = createCertificate({ subject: "long", extra: Buffer.alloc(11_900) });
const TOO_LONG = createCertificate({ subject: "too-long", extra: Buffer.alloc(12_300) });

/** A certificate that contains another one as PEM, which parsers of both forms could find first. */
const CARRIER = createCertificate({ subject: "carrier", extra: Buffer.from(`\n${ec.pem}`) });

type Row = readonly [name: string, verdict: string, ...values: readonly string[]];

/** How each format writes a certificate. */
const WRITERS: Readonly<Record<Format, (certificate: TestCertificate) => string>> = {
  rfc9440: byteSequenceOf,
  "pem-urlencoded": escapedPemOf,
  xfcc: (certificate) => `By=spiffe://api.example/stores;Hash=${hexHashOf(certificate)}`,
};

describe.each(Object.entries(WRITERS))("%s", (format, write) => {
  const { send, sendUnbound } = prepare(format as Format);
  const [own, another] = [write(ec), write(rsa)];

  it.each<Row>([
    ["accepts the certificate of the token", ACCEPTED, own],
    ["accepts white space around the value", ACCEPTED, ` \t${own} \t`],
    ["misses a certificate without the field", MISSING],
    ["misses a certificate in an empty field", MISSING, ""],
    ["misses a certificate in a field of white space", MISSING, " \t "],
    ["rejects another certificate", REJECTED, another],
    ["rejects a certificate with an odd subject that is not the token's", REJECTED, write(odd)],
    ["rejects a certificate that contains the PEM of this one", REJECTED, write(CARRIER)],
    ["rejects two fields", REJECTED, own, another],
    ["rejects two fields in the other order", REJECTED, another, own],
    ["rejects two equal fields", REJECTED, own, own],
    ["rejects an empty field in front of another", REJECTED, "", own],
    ["rejects an empty field behind another", REJECTED, own, ""],
    ["rejects joined fields", REJECTED, `${own}, ${another}`],
    ["rejects characters that are not ASCII", REJECTED, `${own.slice(0, -1)}\u00e9`],
    ["rejects 100 kB of white space in front of it", REJECTED, `x${" ".repeat(KILOBYTES_100)}${own}`],
  ])("%s", async (_name, verdict, ...values) => {
    expect(await send(...values)).toBe(verdict);
  });

  it("rejects a field with any mistake next to an unbound token, too", async () => {
    expect(await sendUnbound(own)).toBe("200 undefined");
    expect(await sendUnbound(own, own)).toBe(REJECTED);
    expect(await sendUnbound("::")).toBe(REJECTED);
  });
});

/** Each is a repetition that makes a regular expression slow, if it tries all ways to match. */
describe.each<readonly [Format, readonly string[]]>([
  ["rfc9440", [`:${"A".repeat(KILOBYTES_100)}`, ":".repeat(KILOBYTES_100), byteSequenceOf(TOO_LONG)]],
  ["pem-urlencoded", ["%41".repeat(KILOBYTES_100 / 3), escapedPemOf(ec).repeat(50)]],
  ["xfcc", ["A=;".repeat(KILOBYTES_100 / 3), ";".repeat(KILOBYTES_100), `S="${'\\"'.repeat(KILOBYTES_100)}`]],
])("a long field of %s", (format, values) => {
  const { send } = prepare(format);

  it.each(values.map((value) => [value.slice(0, 20), value]))("is rejected: %s", async (_, value) => {
    expect(await send(value)).toBe(REJECTED);
  });
});

describe("the lines of a request", () => {
  const { send } = prepare("rfc9440");
  const EC_SEQUENCE = byteSequenceOf(ec);

  it("refuses folded lines, which Node.js or the guard does not read", async () => {
    const folded = `:${BASE64.slice(0, 64)}\r\n ${BASE64.slice(64)}:`;
    expect(await send(folded)).toMatch(/^40[01]/);
  });

  it("refuses a field whose name is followed by white space, or by another spelling", async () => {
    expect(await send(`${EC_SEQUENCE}\r\nclient_cert: ${byteSequenceOf(rsa)}`)).toBe(ACCEPTED);
    expect(await send(`${EC_SEQUENCE}\r\nclient-cert : ${byteSequenceOf(rsa)}`)).toMatch(/^40[01]/);
    expect(await send(`${EC_SEQUENCE}\r\nCLIENT-CERT: ${byteSequenceOf(rsa)}`)).toBe(REJECTED);
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
    expect(await exchange(port, render("GET /stores/berlin HTTP/1.1", fields))).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("a handler of the Fetch standard, whose requests have no socket", () => {
  const own = byteSequenceOf(ec);

  it.each<Row>([
    ["accepts the certificate of the token", ACCEPTED, own],
    ["rejects another certificate", REJECTED, byteSequenceOf(rsa)],
    ["misses a certificate without the field", MISSING],
    ["rejects two fields, which are joined", REJECTED, own, byteSequenceOf(rsa)],
    ["rejects two equal fields, which are joined", REJECTED, own, own],
    ["rejects an empty field in front of another", REJECTED, "", own],
    ["rejects an empty field behind another", REJECTED, own, ""],
  ])("%s, if everyone is trusted", async (_name, verdict, ...values) => {
    const guard = guardFor({ header: "client-cert", format: "rfc9440", trusted: () => true });
    const handle = withScopes(guard.server, () => Response.json({ binding: "mtls" }));
    const headers = new Headers({ authorization: `Bearer ${await tokenFor(ec)}` });
    for (const value of values) headers.append("client-cert", value);
    const response = await handle(new Request("https://api.example/stores/berlin", { headers }));
    expect(guard.verdictOn(await answerOf(response))).toBe(verdict);
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
    const [own, another] = [byteSequenceOf(ec), byteSequenceOf(rsa)];
    expect(await verdictOn(own)).toBe(ACCEPTED);
    expect(await verdictOn()).toBe(MISSING);
    expect(await verdictOn(another)).toBe(REJECTED);
    expect(await verdictOn(own, another)).toBe(REJECTED);
    expect(await verdictOn(own, own)).toBe(REJECTED);
    expect(await verdictOn(`${own}, ${another}`)).toBe(REJECTED);
  });
});
