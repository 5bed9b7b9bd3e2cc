/** Tokens that are bound to the certificate of the connection, on servers of Node.js that end TLS. */
import { beforeAll, describe, expect, it } from "vitest";
import { askTls, openTls, type TlsClientOptions } from "../support/tls-client.ts";
import { TLS_HOSTS, tlsOptionsOf } from "../support/tls-hosts.ts";
import type { TestCertificate } from "../support/x509.ts";
import {
  ACCEPTED,
  certificates,
  closeAfterwards,
  closing,
  ec,
  guardFor,
  MISSING,
  odd,
  REJECTED,
  rsa,
  selfSigned,
  tokenFor,
  UNBOUND,
} from "./setup.ts";

const { authority } = certificates;
closeAfterwards();

type Case = readonly [
  name: string,
  certificate: TestCertificate | undefined,
  bound: TestCertificate | undefined,
  verdict: string,
];

const CASES: readonly Case[] = [
  ["accepts the certificate of the token, with an EC key", ec, ec, ACCEPTED],
  ["accepts the certificate of the token, with an RSA key", rsa, rsa, ACCEPTED],
  ["accepts the certificate of the token, with an odd subject", odd, odd, ACCEPTED],
  ["accepts the certificate of the token, which is self-signed", selfSigned, selfSigned, ACCEPTED],
  ["rejects another certificate of the same authority", rsa, ec, REJECTED],
  ["rejects another certificate, which is self-signed", selfSigned, ec, REJECTED],
  ["rejects the certificate of the authority as that of a client", authority, ec, REJECTED],
  ["misses the certificate of a bound token", undefined, ec, MISSING],
  ["accepts an unbound token without a certificate", undefined, undefined, UNBOUND],
  ["accepts an unbound token with a certificate", ec, undefined, UNBOUND],
];

const ON_PROTOCOLS = TLS_HOSTS.flatMap(({ name, protocols, start }) =>
  protocols.map((protocol) => ({ name, protocol, start })),
);

describe.each(ON_PROTOCOLS)("$name with $protocol", ({ protocol, start }) => {
  const { server, verdictOn } = guardFor("socket");
  let client: TlsClientOptions;
  beforeAll(async () => {
    const { port } = closing(await start(server, tlsOptionsOf(certificates)));
    client = { port, authority, protocol };
  });

  it.each(CASES)("%s", async (_name, certificate, bound, verdict) => {
    const answer = await askTls({ ...client, certificate, token: await tokenFor(bound) });
    expect(verdictOn(answer)).toBe(verdict);
    const challenge = answer.headers["www-authenticate"];
    if (answer.status === 200) expect(challenge).toBeUndefined();
    else expect(challenge).toMatch(/^Bearer (?!.*DPoP).*error="invalid_token"/);
  });

  it("ignores headers that name a certificate", async () => {
    const headers = [
      ["client-cert", `:${ec.der.toString("base64")}:`],
      ["x-forwarded-client-cert", `Hash=${Buffer.from(ec.thumbprint, "base64url").toString("hex")}`],
    ] as const;
    const token = await tokenFor(ec);
    expect(verdictOn(await askTls({ ...client, token, headers }))).toBe(MISSING);
    expect(verdictOn(await askTls({ ...client, certificate: rsa, token, headers }))).toBe(REJECTED);
  });

  it("checks each request of a connection with its own token", async () => {
    const connection = await openTls({ ...client, certificate: ec });
    const verdicts: string[] = [];
    for (const bound of [ec, rsa, ec, undefined, odd, ec])
      verdicts.push(verdictOn(await connection.ask({ token: await tokenFor(bound) })));
    connection.close();
    expect(verdicts).toEqual([ACCEPTED, REJECTED, ACCEPTED, UNBOUND, REJECTED, ACCEPTED]);
  });
});

describe.each(ON_PROTOCOLS.filter(({ protocol }) => protocol === "h2"))(
  "concurrent requests of one connection in $name",
  ({ start }) => {
    it("checks each of them with its own token", async () => {
      const { server } = guardFor("socket");
      const { port } = closing(await start(server, tlsOptionsOf(certificates)));
      const connection = await openTls({ port, authority, certificate: ec, protocol: "h2" });
      const bounds = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? ec : rsa));
      const tokens = await Promise.all(bounds.map((bound) => tokenFor(bound)));
      const answers = await Promise.all(tokens.map((token) => connection.ask({ token })));
      connection.close();
      expect(answers.map(({ status }) => status)).toEqual(bounds.map((bound) => (bound === ec ? 200 : 401)));
    });
  },
);
