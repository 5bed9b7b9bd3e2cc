/** What a channel of `node:diagnostics_channel` publishes while a test runs. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import type { CacheEvent, DecisionMessage, KeyEvent } from "scopegate";

interface Messages {
  readonly "scopegate:decision": DecisionMessage;
  readonly "scopegate:cache": CacheEvent;
  readonly "scopegate:keys": KeyEvent;
}

/** Subscribes until the end of the test, and returns the messages, in order. */
export function messagesOf<Name extends keyof Messages>(name: Name): readonly Messages[Name][] {
  const messages: Messages[Name][] = [];
  const receive = (message: unknown) => void messages.push(message as Messages[Name]);
  subscribe(name, receive);
  onTestFinished(() => void unsubscribe(name, receive));
  return messages;
}
