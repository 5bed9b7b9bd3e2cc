/** Bodies that are slow, large, or in chunks, and requests that say something else about their length. */
import { chunk, type Raw } from "../send.ts";
import { ALLOWED, FORBIDDEN, HARMLESS, type Hostile } from "./hostile.ts";

const CHUNKED = { "content-type": "application/json", "transfer-encoding": "chunked" };
const JSON_TYPE = { "content-type": "application/json" };
const text = JSON.stringify(FORBIDDEN);
/** 10 MiB of JSON, in pieces of 64 KiB. */
const LARGE = Array.from({ length: 160 }, () => " ".repeat(65_536));
const large = LARGE.length * 65_536 + text.length;
const half = text.slice(0, 30);

const chunked = (...pieces: readonly string[]): Raw => ({
  headers: CHUNKED,
  body: [...pieces.map(chunk), "0\r\n\r\n"],
});
const sized = (length: number | string, ...body: readonly string[]): Raw => ({
  headers: { ...JSON_TYPE, "content-length": String(length) },
  body,
});

type Row = readonly [name: string, status: number | readonly number[], raw: Raw & Pick<Hostile, "sender">];

/** Node.js answers these before any handler runs. */
const BY_NODE = [0, 400] as const;

const ROWS: readonly Row[] = [
  ["a forbidden call in one chunk", 403, chunked(text)],
  ["a forbidden call in chunks of one byte", 403, chunked(...text.split(""))],
  ["half a call in chunks", 400, chunked(half)],
  ["a duplicate in two chunks", 400, chunked(text.slice(0, -1), ',"method":"ping"}')],
  ["a forbidden call behind 100,000 spaces", 403, chunked(" ".repeat(100_000), text)],
  ["chunks that never end", 408, { headers: CHUNKED, body: [chunk(half)] }],
  ["a chunked body that never starts", 408, { headers: CHUNKED }],
  ["a body that never starts", 408, sized(100)],
  ["a body that stops", 408, sized(text.length, half)],
  ["a body that stops before its last byte", 408, sized(text.length, text.slice(0, -1))],
  ["10 MiB", 413, sized(large, ...LARGE, text)],
  ["10 MiB that are announced only", 413, sized(large)],
  ["10 MiB in chunks", 413, { headers: CHUNKED, body: [...LARGE.map(chunk), chunk(text), "0\r\n\r\n"] }],
  ["10 MiB in one string", 413, sized(large, `{"x":"`, ...LARGE, `"}`)],
  ["one byte too many", 413, sized(1_048_577, " ".repeat(1_048_577 - text.length), text)],
  ["one byte too many in chunks", 413, chunked(" ".repeat(1_048_577 - text.length), text)],
  ["the largest body", 403, sized(1_048_576, " ".repeat(1_048_576 - text.length), text)],
  ["a length of 2^53", 413, sized("9007199254740993")],
  ["a length of 10^30", [...BY_NODE, 413], sized(`1${"0".repeat(30)}`)],
  ["a length that is no number", BY_NODE, sized("abc", text)],
  ["a negative length", BY_NODE, sized(-1, text)],
  ["a length in hexadecimal", BY_NODE, sized("0x10", text)],
  ["a length that is a list", BY_NODE, sized("10, 10", text)],
  ["a length that is too short", 400, sized(10, text)],
  ["no length and no chunks", 400, { headers: JSON_TYPE, body: [text] }],
  [
    "a length and chunks",
    BY_NODE,
    { headers: { ...CHUNKED, "content-length": "4" }, body: [chunk(text), "0\r\n\r\n"] },
  ],
  [
    "a transfer coding that does not exist",
    [...BY_NODE, 501],
    { headers: { ...JSON_TYPE, "transfer-encoding": "gzip" }, body: [text] },
  ],
  [
    "a chunk of a wrong size",
    [...BY_NODE, 408],
    { headers: CHUNKED, body: ["5\r\n", text, "\r\n0\r\n\r\n"] },
  ],
  ["a chunk size that is no number", [...BY_NODE, 408], { headers: CHUNKED, body: ["x\r\n", text] }],
  [
    "trailers with a method",
    403,
    { headers: CHUNKED, body: [chunk(text), "0\r\nMcp-Method: ping\r\nMcp-Name: search\r\n\r\n"] },
  ],
  [
    "trailers with a token",
    401,
    {
      sender: "anonymous",
      headers: CHUNKED,
      body: [chunk(JSON.stringify(ALLOWED)), "0\r\nAuthorization: Bearer x\r\n\r\n"],
    },
  ],
  // The answer must not wait for the body.
  ["an anonymous body that never starts", 401, { ...sized(100), sender: "anonymous" }],
  ["anonymous chunks that never end", 401, { headers: CHUNKED, body: [chunk(half)], sender: "anonymous" }],
  ["anonymous 10 MiB", 401, { ...sized(large), sender: "anonymous" }],
  ["an expired token and a body that never starts", 401, { ...sized(100), sender: "expired" }],
  ["GET with a forbidden call", [...HARMLESS, 404, 405, 406], { method: "GET", ...sized(text.length, text) }],
  ["GET with a forbidden call in chunks", [...HARMLESS, 404, 405, 406], { method: "GET", ...chunked(text) }],
  [
    "DELETE with a forbidden call",
    [...HARMLESS, 404, 405],
    { method: "DELETE", ...sized(text.length, text) },
  ],
  [
    "HEAD with a forbidden call",
    [...HARMLESS, 404, 405, 406],
    { method: "HEAD", ...sized(text.length, text) },
  ],
  [
    "OPTIONS with a forbidden call",
    [...HARMLESS, 204, 403, 404, 405],
    { method: "OPTIONS", ...sized(text.length, text) },
  ],
];

export const BODY_CASES: readonly Hostile[] = ROWS.map(([name, status, raw]) => ({
  name,
  status: [status].flat(),
  ...raw,
}));
