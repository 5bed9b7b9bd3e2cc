/** A user's program with tRPC: it calls two procedures in one request. */
import { createServer } from "node:http";
import { initTRPC } from "@trpc/server";
import { createHTTPHandler } from "@trpc/server/adapters/standalone";
import { routesOf } from "scopegate/audit";
import { protect } from "scopegate/node";
import * as trpc from "scopegate/trpc";
import { addressOf, printAnswers, server, start } from "./callers.js";

interface Context extends trpc.TrpcContext {
  readonly word: string;
}
const t = initTRPC.context<Context>().create();
const router = t.router({
  whoami: t.procedure.query(({ ctx }) => ctx.principal?.userId),
  note: t.router({
    count: t.procedure.query(({ ctx }) => `${ctx.word} by ${ctx.principal?.userId ?? "nobody"}`),
  }),
});

start(async () => {
  const routes = await routesOf(router, { prefix: "/trpc" });
  console.log(routes.map(({ method, pattern }) => `${method} ${pattern}`).join());
  const protectedContext = trpc.protect(server, { prefix: "/trpc" });
  const createContext = async (options: trpc.TrpcContextOptions): Promise<Context> => ({
    ...(await protectedContext(options)),
    word: "done",
  });
  const handle = createHTTPHandler({ router, basePath: "/trpc/", createContext });
  const guard = protect(server);
  const serving = createServer((request, response) => {
    void guard(request, response).then((isAllowed) => {
      if (isAllowed) handle(request, response);
    });
  }).listen(0);
  const url = `${await addressOf(serving)}/trpc/whoami,note.count?batch=1`;
  await printAnswers(async (headers) => {
    const answer = await fetch(url, { headers });
    const results = answer.ok ? ((await answer.json()) as { result: { data: string } }[]) : [];
    return `${String(answer.status)} ${results.map(({ result }) => result.data).join(" ")}`.trim();
  });
  serving.close();
  serving.closeAllConnections();
});
