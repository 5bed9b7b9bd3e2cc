import { type ServerResponse } from "node:http";
import onHeaders from "on-headers";

/** Keeps the body of a response until it is complete, and sends it edited. */
export function editBody(response: ServerResponse, filter: (body: string) => string): void {
  const chunks: Buffer[] = [];
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  const keep = (chunk: unknown, encoding: unknown, ...others: readonly unknown[]) => {
    if (typeof chunk === "string" || chunk instanceof Uint8Array)
      chunks.push(Buffer.from(chunk as string, encoding as BufferEncoding));
    return [chunk, encoding, ...others].find((one): one is () => void => typeof one === "function");
  };
  onHeaders(response, function () {
    this.removeHeader("content-length");
  });
  response.write = (...given: [unknown?, unknown?]): boolean => {
    keep(...given)?.();
    return true;
  };
  response.end = (...given: [unknown?, unknown?]): ServerResponse => {
    const done = keep(...given);
    // A second call must not send the body again.
    Object.assign(response, { write, end });
    return response.end(filter(Buffer.concat(chunks).toString()), done);
  };
}
