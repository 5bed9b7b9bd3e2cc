/** Starts `scopegate issuer` in this process, on a free port. */
import { EventEmitter, once } from "node:events";
import { scopegate } from "./support.ts";

export interface StartedIssuer {
  readonly url: string;
  /** What the command has written to standard error. */
  readonly notes: () => string;
  /** Stops the command, and returns its exit code and its output. It can be called more than once. */
  readonly stop: () => Promise<{ readonly code: number; readonly out: string }>;
}

export async function startIssuer(key: string): Promise<StartedIssuer> {
  const events = new EventEmitter();
  const stopped = once(events, "stop");
  const started = once(events, "start");
  let notes = "";
  const ended = scopegate(["issuer", "--port", "0", "--key", key], {
    untilStopped: async () => {
      await stopped;
    },
    onNote: (text) => {
      notes += text;
      const [url] = /http:\/\/localhost:\d+/.exec(text) ?? [];
      if (url !== undefined) events.emit("start", url);
    },
  });
  const failed = ended.then(() => Promise.reject(new Error(`The issuer did not start: ${notes}`)));
  const [url] = (await Promise.race([started, failed])) as [string];
  // The command ends later, after its start.
  failed.catch(() => undefined);
  return {
    url,
    notes: () => notes,
    stop: async () => {
      events.emit("stop");
      const { code, out } = await ended;
      return { code, out };
    },
  };
}
