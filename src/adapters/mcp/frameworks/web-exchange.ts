/** What Hono and the Fetch standard share. */
import { readWebBody } from "../body.ts";
import { type Exchange, SESSION_FIELD } from "../gate.ts";
import { type BodyEditor, createEditor, isEventStream } from "../response-editor.ts";
import type { ResponseWatch } from "../responses.ts";

/** `parsed` is the body, if an earlier parser has parsed it. */
export const exchangeOf = (raw: object, request: Request, parsed?: unknown): Exchange => ({
  raw,
  method: request.method,
  fields: () => request.headers.keys(),
  header: (name) => request.headers.get(name) ?? undefined,
  body: (limits) => (request.bodyUsed ? { parsed } : readWebBody(request, limits)),
  async isEmpty(limits) {
    if (request.bodyUsed) return parsed === undefined;
    if (["GET", "HEAD"].includes(request.method)) return true;
    return typeof (await readWebBody(request, { ...limits, maxBodyBytes: 0 })) !== "string";
  },
});

/** Watches a response of the Fetch standard; returns the one to send. */
export async function finishResponse(response: Response, watch: ResponseWatch): Promise<Response> {
  const { status, statusText, headers: received, body } = response;
  const headers = new Headers(received);
  watch.start(status, headers.get(SESSION_FIELD) ?? undefined);
  await watch.started;
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
