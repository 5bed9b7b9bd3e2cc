/** Reads a small body as text. */
import { type Call } from "../../adapters/shared/handler.ts";

const LIMITS = { maxBodyBytes: 65_536, bodyTimeoutMs: 10_000 };

/** Returns a body as a string, or as the object of a body parser; `undefined` if it is too large or slow. */
export async function readText(
  body: Call["body"],
): Promise<string | Readonly<Record<string, unknown>> | undefined> {
  const read = await body(LIMITS);
  if (typeof read === "string") return undefined;
  if (Buffer.isBuffer(read)) return read.toString();
  const { parsed } = read;
  if (typeof parsed === "string") return parsed;
  if (parsed instanceof Uint8Array) return Buffer.from(parsed).toString();
  return typeof parsed === "object" && parsed !== null ? { ...parsed } : undefined;
}
