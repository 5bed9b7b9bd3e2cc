import type { ServerResponse } from "node:http";
import { CHALLENGE_FIELD } from "../../core/response/challenge.ts";
import type { HttpResponse } from "../../core/response/refusal.ts";
import { renderBody } from "../../core/response/rendered-body.ts";

/** The part of Fastify's reply that a refusal is written to. */
export interface FastifyReply {
  /** Node's own response. */
  readonly raw: { once(event: "finish", listener: (this: ServerResponse) => void): unknown };
  /** Sets the status. */
  code(status: number): unknown;
  /** Sets header fields. */
  headers(headers: Record<string, string>): unknown;
  /** Sets a header field, or several with one name. */
  header(name: string, value: unknown): unknown;
  /** Returns a header field that was set before. */
  getHeader(name: string): unknown;
  /** Sends the body. */
  send(body: Buffer): unknown;
}

/** Closes the connection after the reply. */
export function endWith(reply: FastifyReply): void {
  reply.header("Connection", "close");
  reply.raw.once("finish", function () {
    this.req.socket.destroy();
  });
}

export function send(reply: FastifyReply, { status, headers, body }: HttpResponse): void {
  reply.code(status);
  const { [CHALLENGE_FIELD]: challenge, ...others } = headers;
  reply.headers(others);
  const present = reply.getHeader(CHALLENGE_FIELD);
  if (challenge !== undefined)
    reply.header(CHALLENGE_FIELD, present === undefined ? challenge : [present, challenge].flat());
  // As bytes: for a string, Fastify adds a charset, which JSON doesn't have (RFC 8259 section 11).
  reply.send(Buffer.from(renderBody(body)));
}
