/** Mints tokens offline for trying the service out. Its key pair is made on first use and never leaves this folder. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SignJWT } from "jose";

/** Callers to try the service with, each with the scopes of its role. */
export const ROLES = {
  reader: ["agents:read", "teams:read", "sessions:read", "knowledge:read"],
  runner: ["agents:web:read", "agents:web:run", "teams:research:read", "teams:research:run"],
  member: ["sessions:read", "sessions:write", "knowledge:read", "custom:write"],
  admin: ["platform:admin"],
} as const;

export type Role = keyof typeof ROLES;

export interface DevelopmentIssuer {
  /** A token of a role for `audience`, valid for an hour; `claims` replace or add to its own. */
  readonly token: (role: Role, audience: string, claims?: Record<string, unknown>) => Promise<string>;
}

const FOLDER = fileURLToPath(new URL("development/", import.meta.url));

/** Opens the issuer; makes `private.pem` and `public.pem` in its folder when they are not there. */
export function openDevelopmentIssuer(folder: string = FOLDER): DevelopmentIssuer {
  const privateKey = openPrivateKey(folder);
  return {
    token: (role, audience, claims = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const own = { sub: `${role}-1`, session_id: randomUUID(), aud: audience, iat: now, exp: now + 3600 };
      return new SignJWT({ scopes: [...ROLES[role]], ...own, ...claims })
        .setProtectedHeader({ alg: "RS256", typ: "JWT" })
        .sign(privateKey);
    },
  };
}

/** Of several processes that start at once the first makes the key, and all use it. */
function openPrivateKey(folder: string): KeyObject {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "private.pem");
  const draft = join(folder, `${randomUUID()}.pem`);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(draft, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft);
  }
  const key = createPrivateKey(readFileSync(file));
  writeFileSync(draft, createPublicKey(key).export({ type: "spki", format: "pem" }));
  renameSync(draft, join(folder, "public.pem"));
  return key;
}
