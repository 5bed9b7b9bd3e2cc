/** Real proxies that end TLS, with the configurations of the page, in front of a service with the options of the page. */
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { ResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/node";
import { temporaryFolder } from "../support/folder.ts";
import { type Answer, listen } from "../support/http.ts";
import { issuer } from "../support/resource-servers.ts";
import { PROXIES, type ProxyName, replaceOnce, startProxy } from "../support/proxies.ts";
import { askTls, openTls, type TlsClientOptions } from "../support/tls-client.ts";
import type { Protocol } from "../support/tls-hosts.ts";
import type { TestCertificate } from "../support/x509.ts";
import {
  configurationOf,
  removeBlocksAfterwards,
  serverOf,
  upstreamOnPort,
  upstreamOnSocket,
} from "./pages.ts";
import {
  byteSequenceOf,
  certificates,
  closeAfterwards,
  closing,
  ec,
  escapedPemOf,
  guardFor,
  hexHashOf,
  odd,
  rsa,
  selfSigned,
} from "./setup.ts";

const { authority } = certificates;
closeAfterwards();
removeBlocksAfterwards();
const folder = temporaryFolder("sockets");

const FORMATS = { nginx: "pem-urlencoded", HAProxy: "rfc9440", Caddy: "rfc9440" } as const;

const PROTOCOLS: Readonly<Record<ProxyName, readonly Protocol[]>> = {
  nginx: ["http/1.1"],
  HAProxy: ["http/1.1", "h2"],
  Caddy: ["http/1.1", "h2"],
};

/** The servers of the page require `exp`. */
const tokenFor = (certificate?: TestCertificate): Promise<string> =>
  issuer.token({
    aud: ["orders", "agents-prod"], // the service of the page, and that of other tests
    scopes: ["stores:berlin:read"],
    exp: Math.floor(Date.now() / 1000) + 60,
    ...(certificate && { cnf: { "x5t#S256": certificate.thumbprint } }),
  });

/** Answers with the binding, and with the fields in which the certificate came. */
function listenerOf(server: ResourceServer): RequestListener {
  const isAllowed = protect(server);
  return (request, response) => {
    void isAllowed(request, response).then((allowed) => {
      if (!allowed) return;
      const values = request.headersDistinct["client-cert"] ?? [];
      response.end(JSON.stringify({ binding: principalOf(request)?.binding, values }));
    });
  };
}

const codeOf = ({ status, body }: Answer): string =>
  status === 200
    ? `200 ${String((body as { readonly binding?: string }).binding)}`
    : codeOfRefusal(status, body);

/** The body of a proxy's own refusal is HTML. */
const codeOfRefusal = (status: number, body: unknown): string =>
  typeof body === "string" ? String(status) : `${status} ${(body as { readonly code: string }).code}`;

const ACCEPTED = "200 mtls";
const MISSING = "401 proof_missing";
const REJECTED = "401 proof_rejected";

describe.each(PROXIES)("$name", ({ name, isInstalled }) => {
  const format = FORMATS[name];
  let service = 0;
  let client: TlsClientOptions;

  beforeAll(async () => {
    if (!isInstalled) return;
    const server = await serverOf(format);
    service = closing(await listen(createServer(listenerOf(server)))).port;
    const configuration = configurationOf(name, upstreamOnPort(service));
    const { port } = closing(await startProxy({ name, configuration, certificates }));
    client = { port, authority };
  });

  describe.each(PROTOCOLS[name])("with %s", (protocol) => {
    it
      .runIf(isInstalled)
      .each<readonly [string, TestCertificate | undefined, TestCertificate | undefined, string]>([
        ["accepts the certificate of the token, with an EC key", ec, ec, ACCEPTED],
        ["accepts the certificate of the token, with an RSA key", rsa, rsa, ACCEPTED],
        ["accepts the certificate of the token, with an odd subject", odd, odd, ACCEPTED],
        ["rejects another certificate", rsa, ec, REJECTED],
        ["rejects another certificate, with an odd subject", odd, ec, REJECTED],
        ["misses the certificate of a bound token", undefined, ec, MISSING],
        ["refuses an unbound token with a certificate", ec, undefined, MISSING],
        ["refuses an unbound token without a certificate", undefined, undefined, MISSING],
      ])("%s", async (_name, certificate, bound, code) => {
      const answer = await askTls({ ...client, protocol, certificate, token: await tokenFor(bound) });
      expect(codeOf(answer)).toBe(code);
    });

    it.runIf(isInstalled)("replaces each header of the client that names a certificate", async () => {
      const token = await tokenFor(ec);
      const written = format === "rfc9440" ? byteSequenceOf(ec) : escapedPemOf(ec);
      const lists: readonly (readonly (readonly [string, string])[])[] = [
        [["client-cert", written]],
        [
          ["client-cert", written],
          ["client-cert", written],
        ],
        [["client-cert", ""]],
        [["client-cert", `${written}, ${written}`]],
        [["client_cert", written]],
        [
          ["x-forwarded-client-cert", `Hash=${hexHashOf(ec)}`],
          ["client-cert-chain", written],
        ],
      ];
      for (const headers of lists) {
        const about = JSON.stringify(headers).slice(0, 80);
        const asked = { ...client, protocol, token, headers };
        expect(codeOf(await askTls(asked)), about).toBe(MISSING);
        expect(codeOf(await askTls({ ...asked, certificate: rsa })), about).toBe(REJECTED);
        const own = await askTls({ ...asked, certificate: ec });
        expect(codeOf(own), about).toBe(ACCEPTED);
        expect((own.body as { readonly values: readonly string[] }).values, about).toEqual([written]);
      }
    });

    // RFC 9110 section 7.6.1: a proxy removes the fields that `Connection` names. HTTP/2 has no such field.
    it.runIf(isInstalled && protocol === "http/1.1")(
      "lets no other certificate through for a client that has the header removed",
      async () => {
        const token = await tokenFor(ec);
        const written = format === "rfc9440" ? byteSequenceOf(ec) : escapedPemOf(ec);
        const headers = [
          ["connection", "client-cert"],
          ["client-cert", written],
        ] as const;
        const asked = { ...client, protocol, token, headers };
        expect(codeOf(await askTls(asked))).toBe(MISSING);
        expect([MISSING, REJECTED]).toContain(codeOf(await askTls({ ...asked, certificate: rsa })));
        expect([MISSING, ACCEPTED]).toContain(codeOf(await askTls({ ...asked, certificate: ec })));
      },
    );

    it.runIf(isInstalled)(
      "sends the certificate of each client over shared connections to the service",
      async () => {
        const clients = Array.from({ length: 30 }, (_, index) =>
          index % 3 === 0 ? undefined : index % 3 === 1 ? ec : rsa,
        );
        const token = await tokenFor(ec);
        const answers = await Promise.all(
          clients.map((certificate) => askTls({ ...client, protocol, certificate, token })),
        );
        expect(answers.map(codeOf)).toEqual(
          clients.map((certificate) => (certificate === ec ? ACCEPTED : certificate ? REJECTED : MISSING)),
        );
      },
    );

    it.runIf(isInstalled).each(["TLSv1.2", "TLSv1.3"] as const)(
      "sends the certificate of the full handshake in a resumed session of %s",
      async (version) => {
        const token = await tokenFor(ec);
        const full = await openTls({ ...client, protocol, version, certificate: ec });
        expect(codeOf(await full.ask({ token }))).toBe(ACCEPTED);
        const session = full.session();
        full.close();
        const resumed = await openTls({ ...client, protocol, version, session });
        expect(resumed.socket.isSessionReused()).toBe(true);
        expect(codeOf(await resumed.ask({ token }))).toBe(ACCEPTED);
        resumed.close();
      },
    );
  });

  it.runIf(isInstalled)("lets no certificate of another authority through", async () => {
    const token = await tokenFor(selfSigned);
    const answer = await askTls({ ...client, certificate: selfSigned, token }).catch(() => undefined);
    // nginx answers itself, the others end the handshake.
    expect(answer?.status).toBe(name === "nginx" ? 400 : undefined);
  });

  it.runIf(isInstalled)("reaches the service over a Unix socket, for a function that trusts it", async () => {
    const { server } = guardFor({
      header: "client-cert",
      format,
      trusted: ({ remoteAddress }) => remoteAddress === undefined,
    });
    const http = createServer(listenerOf(server));
    const path = join(folder, `${name}.sock`);
    http.listen(path);
    await once(http, "listening");
    chmodSync(path, 0o666);
    closing({
      port: 0,
      close: async () => {
        const closed = once(http, "close");
        http.closeAllConnections();
        http.close();
        await closed;
      },
    });
    const configuration = configurationOf(name, upstreamOnSocket(path));
    const { port } = closing(await startProxy({ name, configuration, certificates }));
    const token = await tokenFor(ec);
    const asked = { port, authority, token };
    expect(codeOf(await askTls({ ...asked, certificate: ec }))).toBe(ACCEPTED);
    expect(codeOf(await askTls({ ...asked, certificate: rsa }))).toBe(REJECTED);
    expect(codeOf(await askTls(asked))).toBe(MISSING);
  });

  it.runIf(isInstalled)("accepts self-signed certificates with the change that the page names", async () => {
    const configuration = configurationOf(name, upstreamOnPort(service), SELF_SIGNED[name]);
    const { port } = closing(await startProxy({ name, configuration, certificates }));
    const asked = { port, authority, certificate: selfSigned };
    expect(codeOf(await askTls({ ...asked, token: await tokenFor(selfSigned) }))).toBe(ACCEPTED);
    expect(codeOf(await askTls({ ...asked, token: await tokenFor(ec) }))).toBe(REJECTED);
    expect(codeOf(await askTls({ port, authority, token: await tokenFor(ec) }))).toBe(MISSING);
  });
});

describe("the page", () => {
  const isInstalled = (proxy: ProxyName): boolean =>
    PROXIES.some(({ name, isInstalled }) => name === proxy && isInstalled);

  async function startWith(name: ProxyName, change: (code: string) => string): Promise<TlsClientOptions> {
    const server = await serverOf(FORMATS[name]);
    const service = closing(await listen(createServer(listenerOf(server)))).port;
    const configuration = configurationOf(name, upstreamOnPort(service), change);
    const { port } = closing(await startProxy({ name, configuration, certificates }));
    return { port, authority };
  }

  it.each(PROXIES.filter(({ isInstalled }) => isInstalled))(
    "needs the line that replaces the header of the client: $name",
    async ({ name }) => {
      const client = await startWith(name, WITHOUT_REPLACING[name]);
      const written = FORMATS[name] === "rfc9440" ? byteSequenceOf(ec) : escapedPemOf(ec);
      const headers = [["client-cert", written]] as const;
      expect(codeOf(await askTls({ ...client, token: await tokenFor(ec), headers }))).toBe(ACCEPTED);
    },
  );

  it.runIf(isInstalled("HAProxy"))("needs ssl_c_used for resumed sessions", async () => {
    const client = await startWith("HAProxy", (code) =>
      replaceOnce(code, "{ ssl_c_used }", "{ ssl_fc_has_crt }"),
    );
    const token = await tokenFor(ec);
    const full = await openTls({ ...client, certificate: ec });
    expect(codeOf(await full.ask({ token }))).toBe(ACCEPTED);
    const session = full.session();
    full.close();
    const resumed = await openTls({ ...client, certificate: ec, session });
    expect(resumed.socket.isSessionReused()).toBe(true);
    expect(codeOf(await resumed.ask({ token }))).toBe(MISSING);
    resumed.close();
  });

  it.runIf(isInstalled("Caddy"))(
    "needs a condition, because Caddy sends the name of an empty placeholder",
    async () => {
      const client = await startWith("Caddy", (code) =>
        replaceOnce(code, "request_header @certificate Client-Cert", "request_header Client-Cert"),
      );
      expect(codeOf(await askTls({ ...client, token: await tokenFor(ec) }))).toBe(REJECTED);
    },
  );
});

const withoutLine =
  (line: RegExp) =>
  (code: string): string => {
    if (!line.test(code)) throw new Error(`The configuration has no line ${String(line)}.`);
    return code.replace(line, "");
  };

const WITHOUT_REPLACING: Readonly<Record<ProxyName, (code: string) => string>> = {
  nginx: withoutLine(/^ *proxy_set_header Client-Cert .*$/m),
  HAProxy: withoutLine(/^ *http-request del-header Client-Cert$/m),
  Caddy: withoutLine(/^ *request_header -Client-Cert$/m),
};

const SELF_SIGNED: Readonly<Record<ProxyName, (code: string) => string>> = {
  nginx: (code) => code.replace(/ssl_verify_client +optional;/, "ssl_verify_client optional_no_ca;"),
  HAProxy: (code) =>
    replaceOnce(code, "verify optional", "verify optional ca-ignore-err all crt-ignore-err all"),
  Caddy: (code) =>
    replaceOnce(code, "mode verify_if_given", "mode request").replace(/^ *trusted_ca_cert_file.*\n/m, ""),
};
