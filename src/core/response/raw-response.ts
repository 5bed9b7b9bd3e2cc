/** A refusal as the bytes of an HTTP/1.1 response, for an upgrade, which has no response object. */
import type { Refusal } from "./refusal.ts";
import { renderBody } from "./rendered-body.ts";

export interface RawResponse {
  readonly status: number;
  /** The reason phrase of the status. */
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: string;
}

/** The response after an error. It shows nothing about the error. */
export const FAULT: RawResponse = { status: 500, title: "Internal Server Error", headers: {}, content: "" };

export const toRawResponse = ({ status, headers, body, problem }: Refusal): RawResponse => ({
  status,
  title: problem.title,
  headers,
  content: renderBody(body),
});

/** `date` is the value of the `Date` header. */
export function renderResponse(
  { status, title, headers, content }: RawResponse,
  method: string,
  date: string,
): Uint8Array {
  const bytes = Buffer.from(content);
  const fields = Object.entries({
    ...headers,
    "Content-Length": String(bytes.length),
    ["Date"]: date,
    Connection: "close",
  });
  const lines = [`HTTP/1.1 ${status} ${title}`, ...fields.map(([name, value]) => `${name}: ${value}`)];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  // The response to HEAD has no content (RFC 9110 section 9.3.2).
  return method === "HEAD" ? head : Buffer.concat([head, bytes]);
}
