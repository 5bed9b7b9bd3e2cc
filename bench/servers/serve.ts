/**
 * The program of one server. It receives orders from the measuring process, and replies with its CPU time.
 */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createExchange, type Exchange } from "./exchange.ts";
import { GET_AGENT, type Question } from "./route.ts";

/** How every server verifies tokens. The public key is a PEM string. */
export interface Issuer {
  readonly publicKey: string;
  readonly issuer: string;
  readonly audience: string;
}

/** The tokens and the number of requests to send in process. An empty order only returns the CPU time. */
export interface Order {
  readonly tokens?: readonly string[];
  readonly requests?: number;
}

type Variants = Readonly<Record<string, (issuer: Issuer) => RequestListener | Promise<RequestListener>>>;

/** Serves the variant in the command line on a free port. */
export async function serve(variants: Variants, question: Question = GET_AGENT): Promise<void> {
  const [name = "", issuer = ""] = process.argv.slice(2);
  const create = variants[name];
  if (!create) throw new TypeError(`Unknown server \`${name}\`.`);
  const server = createServer(await create(JSON.parse(issuer) as Issuer));
  server.keepAliveTimeout = 600_000;
  let exchange: Exchange | undefined;
  const obey = async ({ tokens, requests = 0 }: Order): Promise<void> => {
    if (tokens) await (exchange = createExchange(server, tokens, question)).sendAll();
    await exchange?.send(requests);
    process.send?.(process.cpuUsage());
  };
  process.on("message", (order: Order) => void obey(order));
  process.once("disconnect", () => process.exit());
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}
