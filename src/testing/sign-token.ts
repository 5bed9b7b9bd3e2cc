import { type KeyObject } from "node:crypto";
import { SignJWT } from "jose/jwt/sign";

/** The two parts of a token that are read; members that are `undefined` are left out. */
export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>> & { readonly alg: string };
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A token as it is sent; without a key an unsecured one (RFC 7519 section 6). */
export async function signToken({ header, claims }: TokenParts, key: KeyObject | undefined): Promise<string> {
  if (!key) return `${encode(header)}.${encode(claims)}.`;
  return new SignJWT({ ...claims }).setProtectedHeader({ ...header }).sign(key);
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
