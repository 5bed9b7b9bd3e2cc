/** Sends the bytes of one request, however malformed, and reads its response. */
import { once } from "node:events";
import { connect } from "node:net";

/** A request, as the corpus writes it. */
export interface Raw {
  readonly method?: string;
  readonly path?: string;
  /** In addition to `Host`, `Connection`, `Accept`, and the defaults below; `undefined` removes a default. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Without one, and in an array, no `Content-Length` is sent: the pieces are sent one by one. */
  readonly body?: string | Buffer | readonly (string | Buffer)[];
}

export interface Received {
  /** 0 if the connection was closed without a response, `undefined` if there was none in time. */
  readonly status: number | undefined;
  readonly head: string;
  readonly body: string;
  readonly ms: number;
}

function head(
  { method = "POST", path = "/mcp", headers = {}, body }: Raw,
  token: string | undefined,
): string {
  const fields: Record<string, string | readonly string[] | undefined> = {
    host: "127.0.0.1",
    connection: "close",
    accept: "application/json, text/event-stream",
    ...(body !== undefined && { "content-type": "application/json" }),
    ...((typeof body === "string" || Buffer.isBuffer(body)) && {
      "content-length": String(Buffer.byteLength(body)),
    }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  };
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}`),
  );
  return [`${method} ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

/** One chunk of the transfer coding `chunked`. */
export const chunk = (data: string): string => `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`;

const STREAM = /^content-type: text\/event-stream/im;

export async function send(
  port: number,
  raw: Raw,
  token: string | undefined,
  timeoutMs = 5000,
): Promise<Received> {
  const started = performance.now();
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  let outcome: "closed" | "late" = "closed";
  socket.on("error", () => undefined);
  const timer = setTimeout(() => {
    outcome = "late";
    socket.destroy();
  }, timeoutMs);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("data", (data: Buffer) => {
    text += data.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    // A stream of events has no end.
    if (end >= 0 && STREAM.test(text.slice(0, end))) socket.destroy();
  });
  await once(socket, "connect");
  socket.write(head(raw, token));
  for (const piece of [raw.body ?? []].flat() as readonly (string | Buffer)[]) {
    // A server that has answered closes the connection, and what is still sent would lose its answer.
    if (text !== "" || socket.destroyed) break;
    if (!socket.write(piece))
      await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
  }
  await closed;
  clearTimeout(timer);
  const [top = "", ...rest] = text.split("\r\n\r\n");
  const status =
    (outcome as string) === "late" ? undefined : Number(/^HTTP\/1\.1 (\d{3})/.exec(top)?.[1] ?? 0);
  return { status, head: top, body: rest.join("\r\n\r\n"), ms: performance.now() - started };
}

/** Sends a message as clients do, and reads the whole response. */
export async function post(
  port: number,
  body: object,
  token?: string,
  more: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...more,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
