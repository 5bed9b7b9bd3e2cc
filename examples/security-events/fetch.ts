import { withScopes } from "scopegate/fetch";
import { receive, server } from "./events.js";

async function readText(request: Request): Promise<string | undefined> {
  const reader = request.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    text += decoder.decode(part.value as Uint8Array, { stream: true });
    if (text.length > 65_536) return undefined;
  }
  return text;
}

export default {
  fetch: withScopes(server, async (request) => {
    const { status, headers, body } = await receive(await readText(request));
    return new Response(body, { status, headers });
  }),
};
