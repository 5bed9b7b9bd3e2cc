/** The URI that a DPoP proof names in `htu`, without query and fragment (RFC 9449 section 4.2). */
import { orUndefined } from "../../core/errors.ts";
import { originForm, pathOf } from "../../core/request.ts";

/**
 * An absolute http URI: scheme, authority and path. Only printable ASCII, without backslashes, user
 * information and an encoded host, because with these, parsers disagree about the host.
 */
const HTTP_URI = /^https?:\/\/[^/?#@\\%]+(?:\/[^?#\\]*)?(?:[?#].*)?$/i;
const PRINTABLE = /^[\x21-\x7e]+$/;

/**
 * Normalizes a URI (RFC 3986 sections 6.2.2 and 6.2.3), and removes its query and fragment; `undefined` for
 * anything but an http URI.
 */
export function normalizeUri(text: string): string | undefined {
  if (!PRINTABLE.test(text) || !HTTP_URI.test(text)) return undefined;
  const url = orUndefined(() => new URL(text));
  return url && url.origin + normalizePath(url);
}

/** Returns the normalized path of a request target; `undefined` for a target without a path. */
export function normalPathOf(target: string): string | undefined {
  const origin = originForm(target);
  return origin === undefined ? undefined : normalizePath(new URL(`http://host${pathOf(origin)}`));
}

/** The URL parser removes dot segments, and percent-encodes characters that a URI can't contain. */
const normalizePath = ({ pathname }: URL): string => pathname.replaceAll(/%[\da-f]{2}/gi, normalizeEncoded);

/** RFC 3986 section 6.2.2.2: a letter, a digit and `-._~` are the same without percent-encoding. */
function normalizeEncoded(encoded: string): string {
  const character = String.fromCodePoint(Number.parseInt(encoded.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
}
