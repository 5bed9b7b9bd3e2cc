/** Resumed sessions of TLS: the certificate of a request is that of the full handshake. */
import { beforeAll, describe, expect, it } from "vitest";
import { openTls, type TlsClientOptions } from "../support/tls-client.ts";
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
  REJECTED,
  rsa,
  tokenFor,
} from "./setup.ts";

const { authority } = certificates;
closeAfterwards();

const VERSIONS = ["TLSv1.2", "TLSv1.3"] as const;

const ROWS = TLS_HOSTS.filter(({ name }) => /^(?:Node|Express 5|Fastify 5|Hono) /.test(name)).flatMap(
  ({ name, protocols, start }) =>
    protocols.flatMap((protocol) => VERSIONS.map((version) => ({ name, protocol, version, start }))),
);

describe.each(ROWS)("$name with $protocol over $version", ({ protocol, version, start }) => {
  const { server, verdictOn } = guardFor("socket");
  let options: TlsClientOptions;
  beforeAll(async () => {
    const { port } = closing(await start(server, tlsOptionsOf(certificates)));
    options = { port, authority, protocol, version };
  });

  /** Makes a full handshake, and then resumes its session. Returns the verdicts on one token. */
  async function resume(
    first: TestCertificate | undefined,
    second: TestCertificate | undefined,
    bound: TestCertificate,
  ): Promise<readonly [string, string]> {
    const token = await tokenFor(bound);
    const full = await openTls({ ...options, certificate: first });
    expect(full.socket.getProtocol()).toBe(version);
    const fullVerdict = verdictOn(await full.ask({ token }));
    expect(full.socket.isSessionReused()).toBe(false);
    const session = full.session();
    full.close();
    const resumed = await openTls({ ...options, certificate: second, session });
    const resumedVerdict = verdictOn(await resumed.ask({ token }));
    expect(resumed.socket.isSessionReused()).toBe(true);
    resumed.close();
    return [fullVerdict, resumedVerdict];
  }

  it.each<readonly [string, Parameters<typeof resume>, string]>([
    ["accepts the certificate of the full handshake in a resumed session", [ec, ec, ec], ACCEPTED],
    ["accepts it although the client has no certificate any more", [ec, undefined, ec], ACCEPTED],
    [
      "rejects it for the token of a client with another certificate, which resumes",
      [ec, rsa, rsa],
      REJECTED,
    ],
    ["misses a certificate that the client has got after the full handshake", [undefined, ec, ec], MISSING],
  ])("%s", async (_, certificates, verdict) => {
    expect(await resume(...certificates)).toEqual([verdict, verdict]);
  });
});
