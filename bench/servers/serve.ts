/** The process of one server: it listens on a free port, and tells the CPU time that it has used whenever it is asked. */
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo } from "node:net";

/** What every server is given: the public key as a PEM, and what a token has to name. */
export interface Trust {
  readonly publicKey: string;
  readonly issuer: string;
  readonly audience: string;
}

/** What every server does for a request that it lets in. */
export const PATTERN = "/agents/:agent_id";
export const answer = (agent: string | undefined): object => ({ agent, status: "idle" });

export type Variants = Readonly<Record<string, (trust: Trust) => RequestListener | Promise<RequestListener>>>;

/** Serves the variant that the command line names. */
export async function serve(variants: Variants): Promise<void> {
  const [name = "", trust = ""] = process.argv.slice(2);
  const create = variants[name];
  if (!create) throw new TypeError(`There is no server \`${name}\`.`);
  const server = createServer(await create(JSON.parse(trust) as Trust));
  server.keepAliveTimeout = 600_000;
  process.on("message", () => process.send?.(process.cpuUsage()));
  process.once("disconnect", () => process.exit());
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}
