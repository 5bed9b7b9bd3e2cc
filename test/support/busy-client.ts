/** A client that sends one request after another on the same connection. */
import { Agent, get } from "node:http";

export interface BusyClient {
  /** Resolves when the server has responded to this many requests. */
  readonly responses: (count: number) => Promise<void>;
  /** Resolves with the code of the error when a request fails. */
  readonly failed: Promise<string | undefined>;
}

/** Sends each request as soon as it has the response to the previous one. */
export function keepBusy(port: number, path = "/"): BusyClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>();
  let received = 0;
  const failed = new Promise<string | undefined>((resolve) => {
    const send = (): void => {
      const request = get({ host: "127.0.0.1", port, path, agent }, (response) => {
        response.resume().once("end", () => {
          received += 1;
          for (const each of waiting) if (received >= each.count) each.resolve();
          send();
        });
      });
      request.once("error", ({ code }: NodeJS.ErrnoException) => {
        agent.destroy();
        resolve(code);
      });
    };
    send();
  });
  return {
    failed,
    responses: (count) => new Promise<void>((resolve) => void waiting.add({ count, resolve })),
  };
}
