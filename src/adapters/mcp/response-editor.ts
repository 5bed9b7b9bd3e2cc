/** Reads the JSON-RPC messages in the body of a response, and changes them before they are sent. */
import { orUndefined } from "../../core/errors.ts";
import { andThen } from "../../core/runtime/and-then.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import type { Json } from "../../core/runtime/json.ts";
import { andThenAll } from "./and-then-all.ts";

/** Receives one message of a response. Returns the same object, or the one to send in its place. */
export type EditMessage = (message: Json) => Pending<Json>;

/** What reads and changes a response. */
export interface ResponseEdits {
  readonly editMessage: EditMessage;
  /** Whether everything that `editMessage` can't read must be withheld. */
  readonly isFilter: boolean;
  /** Changes a document or an event after everything else, even if it isn't JSON. */
  readonly restoreNames?: (text: string) => string;
  /** Receives the events that have a name of their own, such as `endpoint`, which are sent afterwards. */
  readonly seeEvent?: (name: string, data: string) => Pending<unknown>;
}

/** An empty line ends an event (HTML standard, section 9.2.5). `\r` at the end can be half of one. */
const END_OF_EVENT = /((?:\r\n|\n|\r(?!\n|$)){2})/;
const MAX_EMPTY_LINE = 4;
const LINES = /\r\n|\n|\r/;

/** The fields that describe a body as the handler wrote it. */
export const FIELDS_OF_BODY = [
  "content-length",
  "etag",
  "digest",
  "content-digest",
  "repr-digest",
  "content-md5",
];

/** Creates the editor of a body; `undefined` if it's sent as it is. */
export function createEditor(
  edits: ResponseEdits | undefined,
  { type, encoding }: { readonly type: string; readonly encoding: string | undefined },
): BodyEditor | undefined {
  if (!edits) return undefined;
  const isReadable = encoding === undefined || encoding === "identity";
  const isStream = isEventStream(type);
  const isDocument = type === "" || /[/+]json\b/i.test(type);
  if (isReadable) return isStream || isDocument ? new ResponseEditor(edits, isStream) : undefined;
  return edits.isFilter ? DISCARDING_EDITOR : undefined;
}

/** Edits a body in parts: each method returns what can be sent now. */
export interface BodyEditor {
  readonly write: (chunk: Uint8Array | string) => Pending<string>;
  readonly end: () => Pending<string>;
}

/** Discards a body that can't be read, such as a compressed one. */
const DISCARDING_EDITOR: BodyEditor = { write: () => "", end: () => "" };

export const isEventStream = (type: string): boolean => /^\s*text\/event-stream\b/i.test(type);

/** Edits a body while it's sent: one event at a time, or a whole JSON document. */
class ResponseEditor implements BodyEditor {
  readonly #edits: ResponseEdits;
  readonly #isStream: boolean;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** What has arrived and isn't sent. It's joined when an event is complete. */
  #pieces: string[] = [];
  /** The last characters, in which an empty line can begin. */
  #tail = "";

  constructor(edits: ResponseEdits, isStream: boolean) {
    this.#edits = edits;
    this.#isStream = isStream;
  }

  /** Takes a part of the body, and returns what can be sent now. */
  write(chunk: Uint8Array | string): Pending<string> {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    return this.#add(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Returns the rest of the body. An incomplete event has no effect in a client. */
  end(): Pending<string> {
    const complete = this.#add(this.#decoder.decode());
    const rest = this.#pieces.join("");
    if (this.#isStream) return joinPending([complete, this.#restore(this.#editEvent(rest))]);
    if (rest.trim() === "") return rest;
    return this.#restore(this.#editJson(rest) ?? (this.#edits.isFilter ? "" : rest));
  }

  #restore(text: Pending<string>): Pending<string> {
    const { restoreNames } = this.#edits;
    return restoreNames ? andThen(text, restoreNames) : text;
  }

  #add(text: string): Pending<string> {
    this.#pieces.push(text);
    const end = this.#tail + text;
    this.#tail = end.slice(-MAX_EMPTY_LINE);
    return this.#isStream && END_OF_EVENT.test(end) ? this.#takeEvents() : "";
  }

  #takeEvents(): Pending<string> {
    const events = this.#pieces.join("").split(END_OF_EVENT);
    const edited: Pending<string>[] = [];
    // The separators are array elements, too.
    for (let index = 0; index + 2 < events.length; index += 2)
      edited.push(this.#restore(this.#editEvent(`${events[index] ?? ""}${events[index + 1] ?? ""}`)));
    const rest = events.at(-1) ?? "";
    this.#pieces = [rest];
    this.#tail = rest.slice(-MAX_EMPTY_LINE);
    return joinPending(edited);
  }

  #editEvent(event: string): Pending<string> {
    const lines = event.replace(/^\uFEFF/, "").split(LINES);
    const valuesOf = (field: string) =>
      lines
        .filter((line) => line.startsWith(`${field}:`))
        .map((line) => line.slice(field.length + 1).replace(/^ /, ""));
    const data = valuesOf("data").join("\n");
    if (data === "") return event;
    const [name = "message"] = valuesOf("event");
    const seen = name === "message" ? undefined : this.#edits.seeEvent?.(name, data);
    const edited = this.#editJson(data);
    if (edited === undefined)
      return this.#edits.isFilter && name === "message" ? "" : andThen(seen, () => event);
    if (edited === data) return event;
    const others = lines.filter((line) => line !== "" && !/^data:?/.test(line));
    const render = (text: string): string => [...others, `data: ${text}`, "", ""].join("\n");
    return andThen(edited, render);
  }

  /** Returns the same string if nothing changes; `undefined` if it isn't JSON. */
  #editJson(text: string): Pending<string> | undefined {
    const value = orUndefined(() => JSON.parse(text) as Json | readonly Json[]);
    if (typeof value !== "object") return undefined;
    const messages = Array.isArray(value) ? (value as readonly Json[]) : [value as Json];
    const edited = messages.map((message) =>
      typeof message === "object" && (message as Json | null) !== null
        ? this.#edits.editMessage(message)
        : message,
    );
    return andThenAll(edited, (all) => {
      if (all.every((message, index) => message === messages[index])) return text;
      return JSON.stringify(Array.isArray(value) ? all : all[0]);
    });
  }
}

const joinPending = (texts: readonly Pending<string>[]): Pending<string> =>
  andThenAll(texts, (all) => all.join(""));
