/** Swagger UI with a secured document: its button "Authorize" takes a token, and "Try it out" sends it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createServer } from "node:http";
import express from "express";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { protect } from "scopegate/express";
import { toSecurity } from "scopegate/openapi";
import { listen } from "../../../support/http.ts";
import { createIssuer } from "../../../support/issuer.ts";
import { createResourceServer } from "../../../support/server.ts";
import { documentOf } from "../../openapi/support/documents.ts";
import { hasChromium, launch } from "./chromium.ts";

const assets = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const PAGE = `<!doctype html><html lang="en"><link rel="stylesheet" href="/docs/swagger-ui.css"><div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script><script>
SwaggerUIBundle({ url: location.search.slice(1), dom_id: "#ui", validatorUrl: null });
</script></html>`;

const issuer = createIssuer();
const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  scopeMappings: { "GET /agents": ["agents:read"], "GET /docs/*path": "public" },
});

const app = express();
app.use(protect(server));
app.get("/docs/page", (_req, res) => res.type("html").send(PAGE));
app.get("/docs/:openapi.json", (req, res) =>
  res.json(toSecurity(documentOf(["GET /agents"], { openapi: req.params.openapi }), server)),
);
for (const file of ["swagger-ui.css", "swagger-ui-bundle.js"])
  app.get(`/docs/${file}`, (_req, res) => res.type(file).send(readFileSync(join(assets, file))));
app.get("/agents", (_req, res) => res.json(["web"]));

describe.skipIf(!hasChromium)("Swagger UI", () => {
  let browser: Browser;
  let served: Awaited<ReturnType<typeof listen>>;

  beforeAll(async () => {
    served = await listen(createServer(app));
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    await served.close();
  });

  /** The status that the page shows after "Execute". */
  async function executeOperation(page: Page): Promise<number> {
    const [response] = await Promise.all([
      page.waitForResponse((one) => new URL(one.url()).pathname === "/agents"),
      page.click("button.execute"),
    ]);
    await page.waitForSelector(`.live-responses-table .response-col_status:has-text("${response.status()}")`);
    return response.status();
  }

  it.each(["3.0.3", "3.1.0"])("sends the token of its button Authorize, with OpenAPI %s", async (openapi) => {
    const page = await browser.newPage();
    const origin = `http://127.0.0.1:${served.port}`;
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith("data:"))
        foreign.push(request.url());
    });
    await page.goto(`${origin}/docs/page?/docs/${openapi}.json`);
    await page.click(".opblock-summary-control");
    await page.click("button.try-out__btn");
    expect(await executeOperation(page)).toBe(401);

    const authorize = async (token: string): Promise<void> => {
      await page.click(".auth-wrapper button.authorize");
      await page.fill(".modal-ux input", token);
      await page.click('.modal-ux button.authorize[type="submit"]');
      await page.click(".modal-ux button.btn-done");
    };
    await authorize(await issuer.token({ scopes: ["agents:read"] }));
    expect(await executeOperation(page)).toBe(200);

    await page.click(".auth-wrapper button.authorize");
    await page.click('.modal-ux button:has-text("Logout")');
    await page.click(".modal-ux button.btn-done");
    expect(await executeOperation(page)).toBe(401);
    await authorize(await issuer.token({ scopes: [] }));
    expect(await executeOperation(page)).toBe(403);
    expect(foreign).toEqual([]);
    await page.close();
  });
});
