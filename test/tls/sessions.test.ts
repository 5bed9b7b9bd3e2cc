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

  it("accepts the certificate of the full handshake in a resumed session", async () => {
    expect(await resume(ec, ec, ec)).toEqual([ACCEPTED, ACCEPTED]);
  });

  it("accepts it although the client has no certificate any more", async () => {
    expect(await resume(ec, undefined, ec)).toEqual([ACCEPTED, ACCEPTED]);
  });

  it("rejects it for the token of another client, whose certificate the resuming client has", async () => {
    expect(await resume(ec, rsa, rsa)).toEqual([REJECTED, REJECTED]);
  });

  it("misses a certificate that the client has got after the full handshake", async () => {
    expect(await resume(undefined, ec, ec)).toEqual([MISSING, MISSING]);
  });
});
