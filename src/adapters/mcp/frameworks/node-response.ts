import type { ServerResponse } from "node:http";
import onHeaders from "on-headers";
import type { HttpResponse } from "../../../core/response/http-response.ts";
import { send } from "../../shared/node-response.ts";
import { isPending, type Pending } from "../../../core/runtime/pending.ts";
import { SESSION_FIELD } from "../exchange.ts";
import { createEditor, FIELDS_OF_BODY, isEventStream, type BodyEditor } from "../response-editor.ts";
import type { ResponseWatch } from "../responses.ts";

/** Watches the response of Node.js to an allowed request. */
export function watchResponse(response: ServerResponse, watch: ResponseWatch): void {
  const { edits } = watch;
  let editor: BodyEditor | undefined;
  onHeaders(response, function () {
    const read = (name: string): string | undefined => {
      const value = this.getHeader(name);
      return value === undefined ? undefined : String(value);
    };
    watch.start(this.statusCode, read(SESSION_FIELD));
    const type = read("content-type") ?? "";
    // Nothing would stop a watch that starts after `close`.
    if (isEventStream(type) && !this.destroyed)
      this.once(
        "close",
        watch.watchStream(() => this.destroy()),
      );
    editor = createEditor(edits, { type, encoding: read("content-encoding") });
    if (editor) for (const name of FIELDS_OF_BODY) this.removeHeader(name);
  });
  if (edits || watch.canStartSession) editWrites(response, watch, () => editor);
  watch.onChallenge((refusal) => replaceResponse(response, refusal));
}

/** Sends a refusal when the handler ends its response, unless the head of the response was sent. */
function replaceResponse(response: ServerResponse, refusal: HttpResponse): void {
  if (response.headersSent) return;
  const restored = {
    writeHead: response.writeHead.bind(response),
    write: response.write.bind(response),
    flushHeaders: response.flushHeaders.bind(response),
    end: response.end.bind(response),
  };
  Object.assign(response, {
    writeHead: () => response,
    write: () => true,
    flushHeaders: () => undefined,
    end: () => {
      Object.assign(response, restored);
      for (const name of response.getHeaderNames()) if (isOfBody(name)) response.removeHeader(name);
      send(response, refusal);
      return response;
    },
  });
}

const isOfBody = (name: string): boolean => /^(?:content-|transfer-encoding$)/.test(name);

type Callback = () => void;

type FindEditor = () => BodyEditor | undefined;

/** Replaces the methods that send. The headers decide how the body is edited, so they are written first. */
function editWrites(response: ServerResponse, watch: ResponseWatch, editorOf: FindEditor): void {
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const flushHeaders = response.flushHeaders.bind(response);
  const findEditor: FindEditor = () => {
    if (!response.headersSent) response.writeHead(response.statusCode);
    return editorOf();
  };
  let last: Promise<void> | undefined;
  // A part must not be sent before the parts that were written earlier, however long their edits take.
  const inOrder = (text: Pending<string>, send: (text: string) => boolean): boolean => {
    const earlier = last ?? watch.started;
    if (!isPending(earlier) && !isPending(text)) return send(text);
    const sent = Promise.resolve(earlier).then(async () => void send(await text));
    last = sent;
    sent
      .catch(() => response.destroy())
      .finally(() => {
        if (last === sent) last = undefined;
      });
    return true;
  };
  response.write = (...parameters: [unknown?, unknown?, unknown?]): boolean => {
    const editor = findEditor();
    if (!editor) return inOrder("", () => write(...(parameters as [string])));
    const [chunk, done] = readChunk(parameters);
    return inOrder(chunk === undefined ? "" : editor.write(chunk), (text) => {
      if (text !== "") return write(text, done);
      done?.();
      return true;
    });
  };
  response.flushHeaders = (): void => {
    findEditor();
    inOrder("", () => {
      flushHeaders();
      return true;
    });
  };
  response.end = (...parameters: [unknown?, unknown?, unknown?]): ServerResponse => {
    const [chunk, done] = readChunk(parameters);
    // As `end` would: the headers are written first. The length of an edited response isn't known.
    const hasLength = ["content-length", "transfer-encoding"].some((name) => response.hasHeader(name));
    const canHaveBody = response.statusCode !== 204 && response.statusCode !== 304;
    if (chunk && !response.headersSent && !hasLength && canHaveBody)
      response.setHeader("content-length", chunk.length);
    const editor = findEditor();
    if (editor) {
      const first = chunk === undefined ? "" : editor.write(chunk);
      inOrder(first, (text) => text === "" || write(text));
    }
    // The last part may be sent later, but the handler must see a response that has ended.
    Object.assign(response, { write: () => false, end: () => response });
    Object.defineProperty(response, "writableEnded", { value: true, configurable: true });
    inOrder(editor?.end() ?? "", (text) => {
      Reflect.deleteProperty(response, "writableEnded");
      Object.assign(response, { write, end });
      if (editor) end(text, done);
      else end(...(parameters as [string]));
      return true;
    });
    return response;
  };
}

/** Reads the parameters of `write` and `end`, each of which can be absent. */
function readChunk(
  parameters: readonly unknown[],
): readonly [chunk: Uint8Array | undefined, done: Callback | undefined] {
  const [chunk, encoding] = parameters;
  const done = parameters.find((value): value is Callback => typeof value === "function");
  if (typeof chunk === "string")
    return [Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8"), done];
  return [chunk instanceof Uint8Array ? chunk : undefined, done];
}
