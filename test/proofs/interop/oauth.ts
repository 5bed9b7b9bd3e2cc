/** What the tests need of oauth4webapi. */
import * as oauth from "oauth4webapi";

/** Options for servers on this machine. */
export const INSECURE = {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- It is the only way to allow http.
  [oauth.allowInsecureRequests]: true,
} as const;

/** A key that signs proofs, with what it remembers of servers. */
export async function createHandle(): Promise<{
  readonly handle: oauth.DPoPHandle;
  readonly thumbprint: string;
}> {
  const handle = oauth.DPoP({}, await oauth.generateKeyPair("ES256"));
  return { handle, thumbprint: await handle.calculateThumbprint() };
}
