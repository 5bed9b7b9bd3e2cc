import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface RawRequest {
  readonly method: string;
  /** Sent unchanged, one byte per character. */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
}

export interface RawAnswer {
  /** 0 if the server closed the connection without a response. */
  readonly status: number;
  readonly body: string;
}

interface Head {
  readonly status: number;
  readonly length: number | "chunked" | "until the end";
  readonly end: number;
  readonly closes: boolean;
}

/** Longer than any response here takes. */
const PATIENCE_MS = 10_000;

/** Sends requests unchanged over one connection, one at a time. Reconnects if the server closes it. */
export class RawClient {
  readonly #port: number;
  #socket: Socket | undefined;
  #received = "";

  constructor(port: number) {
    this.#port = port;
  }

  async ask({ method, target, headers }: RawRequest): Promise<RawAnswer> {
    const socket = await this.#connected();
    const hasHost = headers.some(([name]) => name === "host");
    const all = hasHost ? headers : [["host", "service.example"], ...headers];
    const fields = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.write(`${method} ${target} HTTP/1.1\r\n${fields}\r\n`, "latin1");
    return this.#answer(socket, method);
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #connected(): Promise<Socket> {
    if (this.#socket && !this.#socket.destroyed && !this.#socket.readableEnded) return this.#socket;
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    socket.setEncoding("latin1").setTimeout(PATIENCE_MS, () => socket.destroy());
    this.#received = "";
    this.#socket = socket;
    await once(socket, "connect");
    return socket;
  }

  #answer(socket: Socket, method: string): Promise<RawAnswer> {
    return new Promise((resolve) => {
      const finish = (answer: RawAnswer, closes: boolean) => {
        socket.off("data", onData).off("close", onClose).off("error", onError);
        if (closes) this.close();
        resolve(answer);
      };
      const onData = (data: string) => {
        this.#received += data;
        const head = readHead(this.#received, method);
        const rest = head && this.#received.slice(head.end);
        const read = head && readBody(rest ?? "", head.length);
        if (!read) return;
        this.#received = (rest ?? "").slice(read.end);
        finish({ status: head.status, body: read.body }, head.closes);
      };
      const onClose = () => {
        const head = readHead(this.#received, method);
        finish({ status: head?.status ?? 0, body: this.#received.slice(head?.end ?? 0) }, true);
      };
      // The event "close" follows.
      const onError = () => undefined;
      socket.on("data", onData).on("close", onClose).on("error", onError);
    });
  }
}

function readHead(text: string, method: string): Head | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = text.slice(0, end + 2);
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0);
  const isEmpty = method === "HEAD" || status === 204 || status === 304;
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
  const isChunked = /\r\ntransfer-encoding: *chunked\r\n/i.test(head);
  return {
    status,
    end: end + 4,
    length: isEmpty ? 0 : length !== undefined ? Number(length) : isChunked ? "chunked" : "until the end",
    closes: /\r\nconnection: *close\r\n/i.test(head),
  };
}

function readBody(text: string, length: Head["length"]): { body: string; end: number } | undefined {
  if (length === "until the end") return undefined;
  if (length !== "chunked") {
    return text.length < length ? undefined : { body: text.slice(0, length), end: length };
  }
  let body = "";
  let position = 0;
  for (;;) {
    const line = text.indexOf("\r\n", position);
    if (line < 0) return undefined;
    const size = Number.parseInt(text.slice(position, line), 16);
    const end = line + 2 + size + 2;
    if (text.length < end) return undefined;
    body += text.slice(line + 2, line + 2 + size);
    position = end;
    if (size === 0) return { body, end };
  }
}
