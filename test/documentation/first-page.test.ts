/** What the first page of the site says about a path that slips past. */
import { readFileSync } from "node:fs";
import express from "express";
import { expect, it } from "vitest";
import { protect } from "scopegate/express";
import { ask } from "../support/http.ts";
import { serve, serverFor } from "../support/frameworks.ts";

it("shows the responses to `/Admin/` without and with the guard", async () => {
  const respond: express.RequestHandler = (_request, response) => void response.send("secret");
  const checked = express().use((request, response, next) => {
    if (request.path.startsWith("/admin")) response.sendStatus(401);
    else next();
  });
  const guarded = express().use(protect(serverFor({ "GET /admin": ["admin:use"] })));
  const statuses = [];
  for (const application of [checked, guarded]) {
    const port = await serve(application.get("/admin", respond));
    statuses.push(
      (await ask(port, { path: "/admin" })).status,
      (await ask(port, { path: "/Admin/" })).status,
    );
  }
  expect(statuses).toEqual([401, 200, 401, 401]);
  const story = readFileSync("site/.vitepress/theme/Story.vue", "utf8");
  const shown = story.matchAll(/curl -i localhost:3000(\S+)\n<b class="\w+">HTTP\/1\.1 (\d+)/g);
  expect(Array.from(shown, ([, path, status]) => `${path} ${status}`)).toEqual([
    "/Admin/ 200",
    "/Admin/ 401",
  ]);
});
