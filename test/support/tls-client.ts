/** Clients of servers for `api.example` that end TLS on a port of 127.0.0.1. */
import { once } from "node:events";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect, type SecureVersion, type TLSSocket } from "node:tls";
import type { Answer } from "./http.ts";
import type { Protocol } from "./tls-hosts.ts";
import type { TestCertificate } from "./x509.ts";

export interface TlsClientOptions {
  readonly port: number;
  /** Who has signed the certificate of the server. */
  readonly authority: TestCertificate;
  readonly certificate?: TestCertificate | undefined;
  readonly protocol?: Protocol;
  readonly version?: SecureVersion;
  /** A session to resume. */
  readonly session?: Buffer | undefined;
}

export interface TlsRequest {
  readonly path?: string;
  readonly token?: string | undefined;
  /** An array, because names may repeat. */
  readonly headers?: readonly (readonly [string, string])[];
}

/** A connection, over which requests are sent one after the other. */
export interface TlsClient {
  readonly socket: TLSSocket;
  readonly ask: (request: TlsRequest) => Promise<Answer>;
  /** The newest session of the connection. */
  readonly session: () => Buffer | undefined;
  readonly close: () => void;
}

export async function openTls(options: TlsClientOptions): Promise<TlsClient> {
  const { port, authority, certificate, protocol = "http/1.1", version, session } = options;
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername: "api.example",
    ca: authority.pem,
    ALPNProtocols: [protocol],
    ...(certificate && { cert: certificate.pem, key: certificate.keyPem }),
    ...(version && { minVersion: version, maxVersion: version }),
    ...(session && { session }),
  });
  let newest: Buffer | undefined;
  socket.on("session", (ticket: Buffer) => (newest = ticket));
  await once(socket, "secureConnect");
  const http2 =
    protocol === "h2" ? connectHttp2("https://api.example", { createConnection: () => socket }) : undefined;
  const agent = agentOf(socket);
  return {
    socket,
    ask: (request) => (http2 ? askHttp2(http2, request) : askHttp1(agent, request)),
    session: () => newest,
    close: () => {
      http2?.destroy();
      socket.destroy();
    },
  };
}

/** An agent with one connection. Throws for a request after the server has closed it. */
function agentOf(socket: TLSSocket): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let isUsed = false;
  agent.createConnection = () => {
    if (isUsed) throw new Error("The server has closed the connection.");
    isUsed = true;
    return socket;
  };
  return agent;
}

/** Sends a request over a connection of its own. */
export async function askTls(options: TlsClientOptions & TlsRequest): Promise<Answer> {
  const client = await openTls(options);
  try {
    return await client.ask(options);
  } finally {
    client.close();
  }
}

const fieldsOf = ({ token, headers = [] }: TlsRequest): [string, string][] => [
  ...(token === undefined ? [] : [["authorization", `Bearer ${token}`] as [string, string]]),
  ...headers.map(([name, text]): [string, string] => [name, text]),
];

async function askHttp1(agent: Agent, request: TlsRequest): Promise<Answer> {
  const sent = httpRequest({
    agent,
    path: request.path ?? "/stores/berlin",
    headers: [["host", "api.example"], ...fieldsOf(request)].flat(),
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return answerOf(response, response.statusCode ?? 0, response.headers);
}

async function askHttp2(session: ClientHttp2Session, request: TlsRequest): Promise<Answer> {
  const headers: Record<string, string | string[]> = { ":path": request.path ?? "/stores/berlin" };
  for (const [name, text] of fieldsOf(request)) headers[name] = [headers[name] ?? [], text].flat();
  const stream = session.request(headers);
  const [received] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
  return answerOf(stream, received[":status"] ?? 0, received);
}

async function answerOf(
  stream: AsyncIterable<unknown>,
  status: number,
  headers: Answer["headers"],
): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return { status, headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
