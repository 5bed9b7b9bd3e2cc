import type { ServerResponse } from "node:http";
import onHeaders from "on-headers";

/** Keeps the body of a response until it is complete, and sends it edited. */
export function editBody(response: ServerResponse, filter: (body: string) => string): void {
  const chunks: Buffer[] = [];
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const keep = (chunk: unknown, encoding: unknown, ...others: readonly unknown[]) => {
    if (typeof chunk === "string" || chunk instanceof Uint8Array)
      chunks.push(Buffer.from(chunk as string, encoding as BufferEncoding));
    return [chunk, encoding, ...others].find((value): value is () => void => typeof value === "function");
  };
  onHeaders(response, function () {
    this.removeHeader("content-length");
  });
  response.write = (...parameters: [unknown?, unknown?]): boolean => {
    keep(...parameters)?.();
    return true;
  };
  response.end = (...parameters: [unknown?, unknown?]): ServerResponse => {
    const done = keep(...parameters);
    // A second call must not send the body again.
    Object.assign(response, { write, end });
    return response.end(filter(Buffer.concat(chunks).toString()), done);
  };
}
