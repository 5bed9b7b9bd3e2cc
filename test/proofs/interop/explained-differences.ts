/** Why scopegate and the oracle may disagree about a request. Every other disagreement is a mistake. */
import { ORIGINS } from "./random-requests.ts";
import type { Sent } from "./oracle.ts";

/** A request about which the two disagree. */
export interface Disagreement extends Sent {
  /** Why scopegate refused it, such as `proof_rejected htu`; `undefined` if it was accepted. */
  readonly refusal: string | undefined;
  /** Why the oracle refused it; `undefined` if it was accepted. */
  readonly complaint: string | undefined;
  readonly nowSeconds: number;
  /** Whether a request with this key and this `jti` was accepted before. */
  readonly isReplayed: boolean;
}

export interface Difference {
  readonly name: string;
  /** Which of the two refuses the request. */
  readonly stricter: "scopegate" | "oracle";
  readonly why: string;
  readonly explains: (disagreement: Disagreement, proof: LenientProof) => boolean;
}

type Members = Readonly<Record<string, unknown>>;

/** What a lenient parser reads from a proof. */
export interface LenientProof {
  readonly text: string;
  readonly header: Members;
  readonly payload: Members;
  readonly headerText: string;
  readonly payloadText: string;
}

export function readLeniently(text = ""): LenientProof {
  const [headerText = "", payloadText = ""] = text
    .split(".")
    .map((part) => Buffer.from(part, "base64url").toString("utf8"));
  return { text, headerText, payloadText, header: parse(headerText), payload: parse(payloadText) };
}

function parse(text: string): Members {
  try {
    return Object(JSON.parse(text.replace(/^\uFEFF/, ""))) as Members;
  } catch {
    return {};
  }
}

/** A URI that all parsers read in the same way, with the host in letters and digits. */
const PLAIN_URI = /^https?:\/\/[a-z\d.-]+(?::(?:[1-9]\d*)?)?(?:[/?#][\x21-\x5b\x5d-\x7e]*)?$/i;

/** RFC 3986 section 6.2.2: the same characters, however they are percent-encoded. */
const normalize = (path: string): string =>
  path.replaceAll(/%[\dA-F]{2}/gi, (encoded) => {
    const character = String.fromCodePoint(Number.parseInt(encoded.slice(1), 16));
    return /[A-Za-z\d._~-]/.test(character) ? character : encoded.toUpperCase();
  });

/** The path of a URI, as the URL standard reads it. */
const pathOf = (uri: string): string => new URL(uri).pathname;

const isCanonical = (part: string): boolean => Buffer.from(part, "base64url").toString("base64url") === part;

/** Returns the number of members with a name anywhere in a JSON text, however the name is escaped. */
const countMembers = (text: string): number => [...text.matchAll(/"(?:[^"\\]|\\.)*"\s*:/g)].length;
const countParsed = (value: unknown): number =>
  typeof value !== "object" || value === null
    ? 0
    : Object.values(value).reduce<number>(
        (sum, member) => sum + countParsed(member),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      );

const isBetween = (value: unknown, after: number, until: number): boolean =>
  typeof value === "number" && value > after && value <= until;

export const DIFFERENCES: readonly Difference[] = [
  {
    name: "ambiguous path",
    stricter: "scopegate",
    why: "Routers read the path in different ways, so it is refused before its proof is read.",
    explains: ({ refusal, target }) =>
      refusal === "request_ambiguous" &&
      /\/\/(?!api)|\/(?:\.|%2e){1,2}(?:[/?]|$)|;|\\|%2f|%5c|%00|%(?![\da-f]{2})|[^\x21-\x7e]|^[^?]*[{}`"]/i.test(
        target,
      ),
  },
  {
    name: "origin that is not configured",
    stricter: "scopegate",
    why: "The oracle compares `htu` with the URL of the request, whose host the client chose.",
    explains: ({ refusal, origin }) => refusal === "proof_rejected htu" && !ORIGINS.includes(origin),
  },
  {
    name: "htu that is no URI of RFC 3986",
    stricter: "scopegate",
    why:
      "The URL standard repairs spaces, line breaks, backslashes, missing slashes, user information, " +
      "hosts that are percent-encoded or not ASCII, and ports with a zero in front.",
    explains: ({ refusal }, { payload }) =>
      refusal === "proof_rejected htu" && !PLAIN_URI.test(String(payload["htu"])),
  },
  {
    name: "exp and nbf without tolerance",
    stricter: "scopegate",
    why: "The oracle tolerates 30 seconds for these claims, which RFC 9449 does not require in a proof.",
    explains: ({ refusal, nowSeconds }, { payload }) =>
      refusal === "proof_rejected claims" &&
      (isBetween(payload["exp"], nowSeconds - 30, nowSeconds) ||
        isBetween(payload["nbf"], nowSeconds, nowSeconds + 30)),
  },
  {
    name: "iat in the future",
    stricter: "scopegate",
    why: "The window of the oracle is 300 seconds in both directions; here, a proof may be 5 seconds ahead.",
    explains: ({ refusal, nowSeconds }, { payload }) =>
      refusal === "proof_rejected iat" && isBetween(payload["iat"], nowSeconds + 5, nowSeconds + 300),
  },
  {
    name: "empty or long jti",
    stricter: "scopegate",
    why: "The oracle does not remember them. Here, each must be short and different.",
    explains: ({ refusal }, { payload }) => {
      const { jti } = payload;
      return refusal === "proof_rejected jti" && typeof jti === "string" && (jti === "" || jti.length > 256);
    },
  },
  {
    name: "key with another purpose",
    stricter: "scopegate",
    why: "The oracle ignores `use` and `key_ops`, and for some kinds of keys `alg`.",
    explains: ({ refusal }, { header }) => {
      const { use, key_ops: operations, alg } = Object(header["jwk"]) as Members;
      return (
        refusal === "proof_rejected key" && [use, operations, alg].some((member) => member !== undefined)
      );
    },
  },
  {
    name: "repeated members of the JSON",
    stricter: "scopegate",
    why: "The oracle reads the last one. RFC 7519 section 4 lets a parser reject them.",
    explains: ({ refusal }, { headerText, payloadText, header, payload }) =>
      refusal === "proof_rejected malformed" &&
      (countMembers(headerText) > countParsed(header) || countMembers(payloadText) > countParsed(payload)),
  },
  {
    name: "base64url that is not canonical",
    stricter: "scopegate",
    why: "The oracle accepts white space, padding, the other alphabet, and any unused bits: several texts for one proof.",
    explains: ({ refusal }, { text }) =>
      refusal === "proof_rejected malformed" && !text.split(".").every(isCanonical),
  },
  {
    name: "replayed proof",
    stricter: "scopegate",
    why: "The oracle does not remember any `jti`: this is left to its caller.",
    explains: ({ refusal, isReplayed }) => refusal === "proof_rejected replayed" && isReplayed,
  },
  {
    name: "percent-encoding of htu",
    stricter: "oracle",
    why: "The oracle does not normalize percent-encoding, as RFC 9449 section 4.3 recommends: `%7E` is `~`, and `%c3` is `%C3`.",
    explains: ({ complaint, origin, target }, { payload }) => {
      const htu = String(payload["htu"]);
      const asked = target.startsWith("/") ? origin + target : target;
      return (
        complaint === "DPoP Proof htu mismatch" &&
        pathOf(htu) !== pathOf(asked) &&
        normalize(pathOf(htu)) === normalize(pathOf(asked))
      );
    },
  },
];
