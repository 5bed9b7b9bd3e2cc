import fastify from "fastify";
import { protect } from "scopegate/fastify";
import { receive, server } from "./events.js";

const app = fastify();
await app.register(protect(server));
app.addContentTypeParser(
  "application/secevent+jwt",
  { parseAs: "string", bodyLimit: 65_536 },
  (_request, body, done) => done(null, body),
);
app.post("/events", async (request, reply) => {
  const { status, headers, body } = await receive(request.body);
  return reply.code(status).headers(headers).send(body);
});
await app.listen({ port: 3000 });
