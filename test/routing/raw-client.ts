import { once } from "node:events";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";

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

/** Longer than any response here takes. */
const PATIENCE_MS = 10_000;

/** Sends requests unchanged over one connection, one at a time. Reconnects if the server closes it. */
export class RawClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1, noDelay: true });
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  async ask({ method, target, headers }: RawRequest): Promise<RawAnswer> {
    const request = httpRequest({ port: this.#port, host: "127.0.0.1", agent: this.#agent });
    request.setTimeout(PATIENCE_MS, () => request.destroy());
    request.setHeader("host", "service.example");
    for (const [name] of headers) request.removeHeader(name);
    for (const [name, value] of headers) request.appendHeader(name, value);
    // As options, Node.js would reject some of these.
    Object.assign(request, { method, path: target });
    // Also emitted after a response, if the server adds another one.
    request.on("error", () => undefined);
    request.end();
    try {
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return { status: response.statusCode ?? 0, body: await text(response) };
    } catch {
      return { status: 0, body: "" };
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
