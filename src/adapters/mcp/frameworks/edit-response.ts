import type { ServerResponse } from "node:http";
import onHeaders from "on-headers";
import { isPending, type Pending } from "../../../core/runtime/pending.ts";
import { SESSION_FIELD } from "../gate.ts";
import { createEditor, isEventStream, type BodyEditor } from "../response-editor.ts";
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
    if (editor) this.removeHeader("content-length");
  });
  if (edits) editWrites(response, () => editor);
}

type Callback = () => void;

/** Replaces the methods that send the body. The headers decide how it is edited, so they come first. */
function editWrites(response: ServerResponse, editorOf: () => BodyEditor | undefined): void {
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const findEditor = (): BodyEditor | undefined => {
    if (!response.headersSent) response.writeHead(response.statusCode);
    return editorOf();
  };
  let last: Promise<void> | undefined;
  // A part must not be sent before the parts that were written earlier, however long their edits take.
  const inOrder = (text: Pending<string>, send: (text: string) => boolean): boolean => {
    if (!last && !isPending(text)) return send(text);
    const sent = Promise.resolve(last).then(async () => void send(await text));
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
    if (!editor) return write(...(parameters as [string]));
    const [chunk, done] = readChunk(parameters);
    return inOrder(chunk === undefined ? "" : editor.write(chunk), (text) => {
      if (text !== "") return write(text, done);
      done?.();
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
    if (!editor) return end(...(parameters as [string]));
    const first = chunk === undefined ? "" : editor.write(chunk);
    inOrder(first, (text) => text === "" || write(text));
    // The last part may be sent later, but the handler must see a response that has ended.
    Object.assign(response, { write: () => false, end: () => response });
    Object.defineProperty(response, "writableEnded", { value: true, configurable: true });
    inOrder(editor.end(), (text) => {
      Reflect.deleteProperty(response, "writableEnded");
      Object.assign(response, { write, end });
      end(text, done);
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

/** Watches a response of the Fetch standard; returns the one to send. */
export async function finishResponse(response: Response, watch: ResponseWatch): Promise<Response> {
  const { status, statusText, headers: received, body } = response;
  const headers = new Headers(received);
  watch.start(status, headers.get(SESSION_FIELD) ?? undefined);
  const type = headers.get("content-type") ?? "";
  const editor = createEditor(watch.edits, { type, encoding: headers.get("content-encoding") ?? undefined });
  if (body === null || (!isEventStream(type) && !editor)) return response;
  if (editor && !isEventStream(type)) {
    await editor.write(new Uint8Array(await response.arrayBuffer()));
    headers.delete("content-length");
    return new Response(await editor.end(), { status, statusText, headers });
  }
  headers.delete("content-length");
  return new Response(watchBody(body, editor, watch), { status, statusText, headers });
}

/** Passes on the events of a stream, until it ends or must end. */
function watchBody(
  body: ReadableStream<Uint8Array>,
  editor: BodyEditor | undefined,
  watch: ResponseWatch,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let stop = (): void => undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      stop = watch.watchStream(() => {
        stop();
        reader.cancel().catch(() => undefined);
        controller.close();
      });
    },
    async pull(controller) {
      // An event can arrive in several parts. Nothing is sent before the last one.
      for (;;) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          stop();
          throw error;
        });
        const text = await (done ? editor?.end() : editor?.write(value));
        const bytes = text === undefined ? value : Buffer.from(text);
        if (bytes && bytes.length > 0) controller.enqueue(bytes);
        if (done) {
          stop();
          controller.close();
        }
        if (done || (bytes && bytes.length > 0)) return;
      }
    },
    async cancel(reason) {
      stop();
      await reader.cancel(reason);
    },
  });
}
