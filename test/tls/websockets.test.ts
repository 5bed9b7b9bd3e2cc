/** WebSockets and Socket.IO over TLS: a connection is opened with the certificate of the token, or refused. */
import { createServer } from "node:https";
import { Server as SocketIoServer } from "socket.io";
import { io as connectSocketIo } from "socket.io-client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ResourceServer } from "scopegate";
import { principalOf as callerOf, protectUpgrade } from "scopegate/node";
import { principalOf, protect } from "scopegate/socketio";
import { WebSocket, WebSocketServer } from "ws";
import { createServer as createResourceServer, issuer } from "../support/resource-servers.ts";
import { listenTls, tlsOptionsOf } from "../support/tls-hosts.ts";
import type { TestCertificate } from "../support/x509.ts";
import { certificates, closeAfterwards, closing, ec, rsa } from "./setup.ts";

const { authority } = certificates;
closeAfterwards();

const CHAT = { "GET /socket.io": ["chat:read"], "GET /chat": ["chat:read"] };

const createGuard = (): ResourceServer =>
  createResourceServer({ scopeMappings: CHAT, senderConstraint: { mtls: { from: "socket" } } });

const tokenFor = (certificate: TestCertificate): Promise<string> =>
  issuer.token({ scopes: ["chat:read"], cnf: { "x5t#S256": certificate.thumbprint } });

/** The options of a client with a certificate, or without one. */
const clientWith = (certificate: TestCertificate | undefined) => ({
  ca: authority.pem,
  ...(certificate && { cert: certificate.pem, key: certificate.keyPem }),
});

describe("an upgrade", () => {
  it.each([
    ["opens with the certificate of the token", ec, "opened with mtls"],
    ["is refused with another certificate", rsa, "401 proof_rejected"],
    ["is refused without a certificate", undefined, "401 proof_missing"],
  ])("%s", async (_name, certificate, outcome) => {
    const mayUpgrade = protectUpgrade(createGuard());
    const sockets = new WebSocketServer({ noServer: true });
    const http = createServer(tlsOptionsOf(certificates));
    http.on("upgrade", (request, socket, head) => {
      void mayUpgrade(request, socket, head).then((allowed) => {
        if (!allowed) return;
        sockets.handleUpgrade(request, socket, head, (client) =>
          client.send(`opened with ${String(callerOf(request)?.binding)}`),
        );
      });
    });
    const { port } = closing(await listenTls(http));
    const client = new WebSocket(`wss://127.0.0.1:${port}/chat`, {
      ...clientWith(certificate),
      headers: { authorization: `Bearer ${await tokenFor(ec)}` },
    });
    onTestFinished(() => client.terminate());
    const text = await new Promise<string>((resolve) => {
      client.on("message", (data: Buffer) => resolve(data.toString()));
      client.on("error", () => undefined);
      client.on("unexpected-response", (_request, response) => {
        response.on("data", (data: Buffer) => {
          const { code } = JSON.parse(data.toString()) as { readonly code: string };
          resolve(`${response.statusCode ?? 0} ${code}`);
        });
      });
    });
    expect(text).toBe(outcome);
  });
});

/** What the client learns: the binding of its caller, or why it may not join. */
async function joinWith(
  transport: "polling" | "websocket",
  certificate: TestCertificate | undefined,
  tokenInAuth: boolean,
): Promise<string> {
  const http = createServer(tlsOptionsOf(certificates));
  const io = new SocketIoServer(http);
  protect(createGuard(), { tokenInAuth })(io);
  io.on("connection", (socket) =>
    socket.emit("welcome", `joined with ${String(principalOf(socket)?.binding)}`),
  );
  const { port } = closing(await listenTls(http));
  const token = await tokenFor(ec);
  const client = connectSocketIo(`https://127.0.0.1:${port}`, {
    transports: [transport],
    reconnection: false,
    ...clientWith(certificate),
    ...(tokenInAuth ? { auth: { token } } : { extraHeaders: { authorization: `Bearer ${token}` } }),
  });
  onTestFinished(async () => {
    client.close();
    await io.close();
  });
  return new Promise((resolve) => {
    client.on("welcome", resolve);
    client.on("connect_error", (error) => {
      const { data } = error as { readonly data?: { readonly code: string } };
      resolve(data?.code ?? error.message);
    });
  });
}

describe("Socket.IO", () => {
  it.each(["websocket", "polling"] as const)(
    "lets the client of the token join over %s",
    async (transport) => {
      expect(await joinWith(transport, ec, false)).toBe("joined with mtls");
      // Refused before there is a session.
      expect(await joinWith(transport, rsa, false)).toMatch(/^(?:websocket|xhr poll) error$/);
      expect(await joinWith(transport, undefined, false)).toMatch(/^(?:websocket|xhr poll) error$/);
    },
  );

  it("lets the client of the token join with the token in auth", async () => {
    expect(await joinWith("websocket", ec, true)).toBe("joined with mtls");
    expect(await joinWith("websocket", rsa, true)).toBe("proof_rejected");
    expect(await joinWith("websocket", undefined, true)).toBe("proof_missing");
  });
});
