/** An issuer that publishes keys over HTTP, for tests of remote keys. Each test has its own server. */
import { afterEach, beforeEach } from "vitest";
import { behave, createFaultServer, type FaultServer } from "./fault-server.ts";
import { createIssuer } from "./issuer.ts";
import { setOf, type Signers } from "./remote-keys.ts";

export const first = createIssuer({ kid: "first" });
export const second = createIssuer({ kid: "second" });

/** The server of the running test, and the URL of its set, which contains the key of `first`. */
export let issuer: FaultServer;
export let jwksUri: string;

export const publish = (...keys: Signers) => issuer.answer("/jwks", behave.json(setOf(...keys)));
export const asked = () => issuer.asked("/jwks");

/** Starts the server before each test of the file, and stops it afterwards. */
export function useKeyIssuer(): void {
  beforeEach(async () => {
    issuer = await createFaultServer();
    jwksUri = `${issuer.url}/jwks`;
    publish(first);
  });
  afterEach(() => issuer.stop());
}
