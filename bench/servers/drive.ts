/** Sends requests to a server over loopback and verifies the status of each answer. */
import autocannon from "autocannon";
import type { Load } from "./loads.ts";
import { ANSWER, GET_AGENT, type Question, TARGET } from "./route.ts";
import type { ServerProcess } from "./server-process.ts";

/** Each connection sends its next request after the answer to the last one. */
export interface Drive {
  readonly connections: number;
  readonly requests: number;
}

/** Returns how long each answer took, in milliseconds. */
export async function drive(
  server: ServerProcess,
  load: Load,
  { connections, requests }: Drive,
): Promise<readonly number[]> {
  const durations: number[] = [];
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(
      {
        url: `${server.origin}${TARGET}`,
        connections,
        amount: requests,
        // How often it checks whether all requests were answered, in milliseconds.
        sampleInt: 10,
        requests: [
          {
            setupRequest: (request) => ({ ...request, headers: { authorization: load.authorization() } }),
          },
        ],
      },
      (error: unknown, done) => {
        if (error) reject(new Error("The load failed.", { cause: error }));
        else resolve(done);
      },
    );
    instance.on("response", (_client, _status, _bytes, duration) => durations.push(duration));
  });
  const expected = server.variant === "no auth" ? 200 : load.status;
  const answered = result.statusCodeStats?.[`${expected}`]?.count ?? 0;
  if (answered !== requests || result.errors > 0) {
    const what = JSON.stringify(result.statusCodeStats);
    throw new Error(
      `${server.framework}, ${server.variant}, ${load.name}: expected ${expected}, received ${what}`,
    );
  }
  return durations;
}

/** Verifies that a server accepts the tokens that it should accept, and no request without a token. */
export async function verifyAnswers(
  server: ServerProcess,
  load: Load,
  question: Question = GET_AGENT,
): Promise<void> {
  const ask = async (headers: Record<string, string>) => {
    const { method, target, body = null } = question;
    const init = { method, body, headers: { ...question.headers, ...headers } };
    const response = await fetch(`${server.origin}${target}`, init);
    return { status: response.status, body: await response.text() };
  };
  const isOpen = server.variant === "no auth";
  const fail = (what: string, status: number) => {
    throw new Error(`${server.framework}, ${server.variant} answers ${status} to ${what}.`);
  };
  const { status } = await ask({});
  if (status !== (isOpen ? 200 : 401)) fail("a request without a token", status);
  const answer = await ask({ authorization: load.authorization() });
  const expected = isOpen ? 200 : load.status;
  if (answer.status !== expected) fail(load.name, answer.status);
  const isAnswer = question === GET_AGENT ? answer.body === ANSWER : answer.body.includes('"text":"idle"');
  if (expected === 200 && !isAnswer) fail(answer.body, 200);
}
