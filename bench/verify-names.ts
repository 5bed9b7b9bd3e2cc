/** The names of the contestants. */
export const FIRST = "authenticate, first";
export const CACHED = "authenticate, cached";
export const CHECK_FIRST = "check, first";
export const CHECK_CACHED = "check, cached";
export const JOSE = "jose";

/** Not every library has every algorithm. */
export const PEERS = [
  "fast-jwt",
  "fast-jwt, its cache",
  "jsonwebtoken",
  "aws-jwt-verify",
  "crypto.verify",
] as const;
