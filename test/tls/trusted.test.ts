/** Who may send the certificate in a header field: addresses, functions, Unix sockets. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest, type RequestListener } from "node:http";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import type { ResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import { principalOf, protect } from "scopegate/node";
import { temporaryFolder } from "../support/folder.ts";
import { type Answer, ask as askHttp } from "../support/http.ts";
import { koaListener, listenFastify } from "../support/hosts.ts";
import { askTls } from "../support/tls-client.ts";
import { type Listening, listenTls, TLS_HOSTS, tlsOptionsOf } from "../support/tls-hosts.ts";
import {
  ACCEPTED,
  byteSequenceOf,
  type CertificateHeader,
  certificates,
  closeAfterwards,
  closing,
  ec,
  guardFor,
  MISSING,
  REJECTED,
  rsa,
  tokenFor,
  UNBOUND,
} from "./setup.ts";
import { HAS_IPV6 } from "../support/ipv6.ts";

closeAfterwards();
const folder = temporaryFolder("trusted");

type Trusted = CertificateHeader["trusted"];

const guardOf = (trusted: Trusted) => guardFor({ header: "client-cert", format: "rfc9440", trusted });

function listenerOf({ server }: ReturnType<typeof guardFor>): RequestListener {
  const isAllowed = protect(server);
  return (request, response) => {
    void isAllowed(request, response).then((allowed) => {
      if (allowed) response.end(JSON.stringify({ binding: principalOf(request)?.binding }));
    });
  };
}

type Where = { readonly host: string; readonly port: number } | { readonly socketPath: string };

async function ask(where: Where, token: string, value?: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, ...(value !== undefined && { "client-cert": value }) };
  const sent = httpRequest({ ...where, path: "/stores/berlin", agent: false, headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text, body: JSON.parse(text) };
}

if (!HAS_IPV6) console.log("Skipped: the tests with addresses of IPv6, because this machine has none.");

/** Which addresses are in a network is tested with `createAddressCheck`. */
describe("trusted as a list of networks", () => {
  type Row = readonly [from: string, to: string, trusted: readonly string[], verdict: string];

  it.each<Row>([
    ["127.0.0.1", "127.0.0.1", ["10.0.0.0/8", "127.0.0.0/31"], ACCEPTED],
    ["127.0.0.1", "127.0.0.1", ["10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12"], REJECTED],
  ])("from %s to %s with %j: %s", checkFrom);

  // A socket of both families reports addresses of IPv4 as `::ffff:127.0.0.1`.
  it.runIf(HAS_IPV6).each<Row>([
    ["127.0.0.1", "::", ["127.0.0.0/8"], ACCEPTED],
    ["127.0.0.1", "::", ["::ffff:127.0.0.1"], ACCEPTED],
    ["127.0.0.1", "::", ["10.0.0.0/8", "::1"], REJECTED],
    ["::1", "::", ["::1"], ACCEPTED],
    ["::1", "::1", ["fd00::/8", "127.0.0.1", "0.0.0.0/0"], REJECTED],
  ])("from %s to %s with %j: %s", checkFrom);

  async function checkFrom(to: string, on: string, trusted: readonly string[], verdict: string) {
    const guard = guardOf(trusted);
    const { port } = closing(await listenTls(createServer(listenerOf(guard)), on));
    const where = { host: to, port };
    const [bound, unbound] = [await tokenFor(ec), await tokenFor()];
    expect(guard.verdictOn(await ask(where, bound, byteSequenceOf(ec)))).toBe(verdict);
    expect(guard.verdictOn(await ask(where, bound))).toBe(MISSING);
    expect(guard.verdictOn(await ask(where, unbound))).toBe(UNBOUND);
    // Refused, although nobody needs the certificate: a client that sends the header tries something.
    const beside = verdict === ACCEPTED ? UNBOUND : verdict;
    expect(guard.verdictOn(await ask(where, unbound, byteSequenceOf(ec)))).toBe(beside);
    expect(guard.verdictOn(await ask(where, unbound, "anything"))).toBe(REJECTED);
  }
});

describe("trusted as a function", () => {
  it("receives the socket of the request", async () => {
    const ports: (number | undefined)[] = [];
    const guard = guardOf(({ localPort }) => ports.push(localPort) > 0);
    const { port } = closing(await listenTls(createServer(listenerOf(guard))));
    const where = { host: "127.0.0.1", port };
    expect(guard.verdictOn(await ask(where, await tokenFor(ec), byteSequenceOf(ec)))).toBe(ACCEPTED);
    expect(ports).toEqual([port]);
  });

  it.each(TLS_HOSTS)("recognizes a proxy by its own certificate: $name", async ({ start, protocols }) => {
    const guard = guardOf((socket) => {
      const secure = socket as Partial<Pick<TLSSocket, "getPeerX509Certificate">>;
      return secure.getPeerX509Certificate?.()?.raw.equals(rsa.der) === true;
    });
    const { port } = closing(await start(guard.server, tlsOptionsOf(certificates)));
    const token = await tokenFor(ec);
    const headers = [["client-cert", byteSequenceOf(ec)]] as const;
    for (const protocol of protocols) {
      const client = { port, authority: certificates.authority, protocol, token, headers };
      expect(guard.verdictOn(await askTls({ ...client, certificate: rsa }))).toBe(ACCEPTED);
      expect(guard.verdictOn(await askTls({ ...client, certificate: ec }))).toBe(REJECTED);
      expect(guard.verdictOn(await askTls(client))).toBe(REJECTED);
    }
  });
});

describe("a framework that believes forwarded addresses", () => {
  type Start = (server: ResourceServer) => Promise<Listening>;

  it.each<readonly [name: string, start: Start]>([
    [
      "Express",
      (server) => {
        const app = express().set("trust proxy", true).use(forExpress.protect(server));
        return listenTls(createServer(app));
      },
    ],
    [
      "Koa",
      (server) => {
        const app = new Koa({ proxy: true }).use(forKoa.protect(server));
        return listenTls(createServer(koaListener(app)));
      },
    ],
    [
      "Fastify",
      async (server) => {
        const app = fastify({ trustProxy: true });
        await app.register(forFastify.protect(server));
        const { port } = await listenFastify(app);
        return { port, close: () => app.close() };
      },
    ],
  ])("does not make the guard believe them: %s", async (_name, start) => {
    const guard = guardOf(["10.0.0.0/8"]);
    const { port } = closing(await start(guard.server));
    const headers = [
      ["x-forwarded-for", "10.0.0.1"],
      ["forwarded", "for=10.0.0.1"],
      ["x-real-ip", "10.0.0.1"],
      ["client-cert", byteSequenceOf(ec)],
    ] as const;
    const answer = await askHttp(port, { path: "/stores/berlin", token: await tokenFor(ec), headers });
    expect(guard.verdictOn(answer)).toBe(REJECTED);
  });
});

describe("a Unix socket", () => {
  it.each<readonly [name: string, trusted: Trusted, verdict: string]>([
    ["refuses the header, whatever networks are trusted", ["0.0.0.0/0", "::/0"], REJECTED],
    ["accepts the header for a function that returns true", () => true, ACCEPTED],
    ["reports no address to the function", (socket) => socket.remoteAddress === undefined, ACCEPTED],
  ])("%s", async (name, trusted, verdict) => {
    const guard = guardOf(trusted);
    const http = createServer(listenerOf(guard));
    const socketPath = join(folder, `${name.length}.sock`);
    http.listen(socketPath);
    await once(http, "listening");
    closing({ port: 0, close: () => closeHttp(http) });
    expect(guard.verdictOn(await ask({ socketPath }, await tokenFor(ec), byteSequenceOf(ec)))).toBe(verdict);
    expect(guard.verdictOn(await ask({ socketPath }, await tokenFor(ec)))).toBe(MISSING);
  });
});

async function closeHttp(http: ReturnType<typeof createServer>): Promise<void> {
  const closed = once(http, "close");
  http.closeAllConnections();
  http.close();
  await closed;
}
