import { Agent } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { ask } from "../support/http.ts";
import { type Mix } from "./mix.ts";
import { PATH, type Service } from "./services.ts";
import { type Shot } from "./tokens.ts";

/** How many connections each service has, one request at a time on each. */
export const CONNECTIONS = 16;
/**
 * What a connection rests between two requests. Without it the event loop that all of this shares would be so late that
 * nothing could be said of times.
 */
const REST_MS = 30;

export interface Answered {
  readonly service: string;
  readonly shot: Shot;
  readonly sent: number;
  readonly answered: number;
  /** 0 where there was no answer. */
  readonly status: number;
}

/** One connection that stays, and that is counted among the sockets of the process while it rests as well. */
class Connection extends Agent {
  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  override keepSocketAlive(): boolean {
    return true;
  }
}

/** Sends requests until it is stopped; whatever comes back is told. */
export function startLoad(
  services: readonly Service[],
  mix: Mix,
  tell: (answered: Answered) => void,
): { readonly stop: () => Promise<void> } {
  let isStopped = false;

  const send = async ({ name, port }: Service, shot: Shot, agent: Agent): Promise<void> => {
    const sent = Date.now();
    const status = await ask(port, { path: PATH, token: shot.token, agent }).then(
      (answer) => answer.status,
      () => 0,
    );
    tell({ service: name, shot, sent, answered: Date.now(), status });
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
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(connections);
    },
  };
}
