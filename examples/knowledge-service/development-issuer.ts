/** Signs tokens for trying the service. Its key pair is created on first use and stays in this folder. */
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

/** Roles of callers, with their scopes. */
export const ROLES = {
  reader: ["agents:read", "teams:read", "sessions:read", "knowledge:read"],
  runner: ["agents:web:read", "agents:web:run", "teams:research:read", "teams:research:run"],
  member: ["sessions:read", "sessions:write", "knowledge:read", "custom:write"],
  admin: ["platform:admin"],
} as const;

export type Role = keyof typeof ROLES;

export interface DevelopmentIssuer {
  /**
   * Signs a token for a role and an audience, valid for an hour. `claims` are added and may replace claims.
   */
  readonly token: (role: Role, audience: string, claims?: Record<string, unknown>) => Promise<string>;
}

const FOLDER = fileURLToPath(new URL("development/", import.meta.url));

/** Opens the issuer. Creates `private.pem` and `public.pem` in its folder if they do not exist. */
export function openDevelopmentIssuer(folder: string = FOLDER): DevelopmentIssuer {
  const privateKey = openPrivateKey(folder);
  return {
    token: (role, audience, claims = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const own = {
        sub: `${role}-1`,
        session_id: randomUUID(),
        aud: audience,
        iat: now,
        exp: now + 3600,
        auth_time: now,
      };
      return new SignJWT({ scopes: [...ROLES[role]], ...own, ...claims })
        .setProtectedHeader({ alg: "RS256", typ: "JWT" })
        .sign(privateKey);
    },
  };
}

/**
 * Uses `linkSync`, which fails if the file exists, so that processes that start at the same time share one
 * key.
 */
function openPrivateKey(folder: string): KeyObject {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "private.pem");
  const draft = join(folder, `${randomUUID()}.pem`);
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  writeFileSync(draft, privateKey, { mode: 0o600 });
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
