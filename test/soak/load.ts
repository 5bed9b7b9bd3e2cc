import { Agent } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { ask } from "../support/http.ts";
import { PATH, type Service } from "./services.ts";
import type { Mix, Shot } from "./tokens.ts";

/** The number of connections to each service. Each sends one request at a time. */
const CONNECTIONS = 16;
/**
 * The pause of a connection between two requests. Without it, the shared event loop would be too late for any
 * statement about times.
 */
const REST_MS = 30;

export interface Answered {
  readonly service: string;
  readonly shot: Shot;
  readonly sent: number;
  readonly answered: number;
  /** 0 if there was no response. */
  readonly status: number;
}

/** One connection that stays open, so that it is always counted among the sockets of the process. */
class Connection extends Agent {
  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  override keepSocketAlive(): boolean {
    return true;
  }
}

/** Sends requests until the returned function is called, and passes every result to `onAnswer`. */
export function startLoad(
  services: readonly Service[],
  mix: Mix,
  onAnswer: (answered: Answered) => void,
): () => Promise<void> {
  let isStopped = false;

  const send = async ({ name, port }: Service, shot: Shot, agent: Agent): Promise<void> => {
    const sent = Date.now();
    const status = await ask(port, { path: PATH, token: shot.token, agent }).then(
      (answer) => answer.status,
      () => 0,
    );
    onAnswer({ service: name, shot, sent, answered: Date.now(), status });
  };
  const connections = services.flatMap((service) => {
    let turn = 0;
    return Array.from({ length: CONNECTIONS }, async () => {
      const agent = new Connection();
      while (!isStopped) {
        const shot = mix.at((turn += 1));
        if (shot) await send(service, shot, agent);
        await wait(REST_MS);
      }
      agent.destroy();
    });
  });
  return async () => {
    isStopped = true;
    await Promise.all(connections);
  };
}
