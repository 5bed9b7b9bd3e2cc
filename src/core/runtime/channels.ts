/** The channels for monitoring tools. Messages are built only for a channel that has subscribers. */
import { type Channel, channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { notify } from "./notify.ts";

export const DECISION_CHANNEL = channel("scopegate:decision");
export const KEYS_CHANNEL = channel("scopegate:keys");
export const CACHE_CHANNEL = channel("scopegate:cache");

const publishTo = (to: Channel, message: object): void => to.publish(message);

/** Not every runtime catches the exceptions of subscribers, as Node.js does. */
export const publish = (to: Channel, message: object): void => notify(publishTo, to, message);

/** Calls `receive` with each message, until the returned function is called. `receive` may throw. */
export function listen(to: Channel, receive: (message: never) => void): () => void {
  const listener = (message: unknown): void => notify(receive, message as never);
  subscribe(to.name, listener);
  return () => void unsubscribe(to.name, listener);
}
