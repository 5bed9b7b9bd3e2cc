/** What Hono and the Fetch standard share. */
import { orUndefined } from "../../../core/errors.ts";
import type { HttpResponse } from "../../../core/response/refusal.ts";
import { shareVerdicts } from "../../shared/guard.ts";
import { toResponse } from "../../shared/web-request.ts";
import { type BodyLimits, readBody, type ReadBody, type Sink } from "../body.ts";
import { type Exchange, SESSION_FIELD } from "../exchange.ts";
import { type Gate, isPassed, type Passed } from "../gate.ts";
import { type BodyEditor, createEditor, FIELDS_OF_BODY, isEventStream } from "../response-editor.ts";
import { ResponseWatch } from "../responses.ts";

/** An allowed request of the Fetch standard. */
export interface WebPassed extends Pick<Passed, "verdict" | "authInfo" | "body"> {
  /** The request with a readable body, for code that doesn't use the parsed one. */
  readonly request: Request;
  /** Watches the handler's response; returns the one to send. */
  readonly respond: (response: Response) => Promise<Response>;
}

/** Checks a request. `raw` has its verdict; `parsed` is the body, if an earlier parser has parsed it. */
export async function checkCall(
  gate: Gate,
  raw: object,
  request: Request,
  parsed?: unknown,
): Promise<WebPassed | HttpResponse> {
  const outcome = await gate(exchangeOf(raw, request, parsed));
  if (!isPassed(outcome)) return outcome;
  const { verdict, authInfo, body, bytes } = outcome;
  const watch = new ResponseWatch(outcome);
  const readable = bytes ? withBody(request, bytes, outcome.headers) : request;
  shareVerdicts(raw, readable);
  let refusal: HttpResponse | undefined;
  watch.onChallenge((challenge) => (refusal = challenge));
  const respond = (response: Response) => {
    if (!refusal || isEventStream(response.headers.get("content-type") ?? ""))
      return finishResponse(response, watch);
    response.body?.cancel().catch(() => undefined);
    return finishResponse(toResponse(refusal), watch);
  };
  return { verdict, authInfo, body, request: readable, respond };
}

const exchangeOf = (raw: object, request: Request, parsed: unknown): Exchange => ({
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

/** Returns a request with an unread body. The constructor rejects the requests of some servers. */
function withBody(raw: Request, body: Buffer, replaced: Passed["headers"]): Request {
  const headers = new Headers(raw.headers);
  for (const [name, value] of Object.entries(replaced ?? {})) headers.set(name, value);
  return (
    orUndefined(() => new Request(raw, replaced ? { body, headers } : { body })) ??
    new Request(raw.url, { method: raw.method, headers, signal: raw.signal, body })
  );
}

/** Reads the body of a request of the Fetch standard. */
function readWebBody({ body, headers }: Request, limits: BodyLimits): Promise<ReadBody> {
  const start = async ({ add, end, fail }: Sink): Promise<void> => {
    try {
      const reader = body?.getReader();
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
        if (!add(next.value as Uint8Array)) return;
      end();
    } catch {
      fail();
    }
  };
  return readBody(start, limits, Number(headers.get("content-length") ?? 0));
}

/** Watches a response of the Fetch standard; returns the one to send. */
async function finishResponse(response: Response, watch: ResponseWatch): Promise<Response> {
  const { status, statusText, headers: received, body } = response;
  const headers = new Headers(received);
  watch.start(status, headers.get(SESSION_FIELD) ?? undefined);
  await watch.started;
  const type = headers.get("content-type") ?? "";
  const editor = createEditor(watch.edits, { type, encoding: headers.get("content-encoding") ?? undefined });
  if (body === null || (!isEventStream(type) && !editor)) return response;
  for (const name of FIELDS_OF_BODY) headers.delete(name);
  if (editor && !isEventStream(type)) {
    await editor.write(new Uint8Array(await response.arrayBuffer()));
    return new Response(await editor.end(), { status, statusText, headers });
  }
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
