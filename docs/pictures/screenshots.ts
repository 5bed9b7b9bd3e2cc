/** `npm run docs:screenshots`: opens the policy page of the build in Chromium, and writes pictures to this folder. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type createResourceServer } from "../../src/index.ts";
import { type page as renderPage } from "../../src/page/index.ts";
import { launch } from "../../test/page/chromium.ts";
import { createIssuer } from "../../test/support/issuer.ts";

const pictureAt = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** The build, because the script of the page is bundled by it. */
const built = (name: string): string => new URL(`../../dist/${name}.js`, import.meta.url).href;
const { createResourceServer: create } = (await import(built("index"))) as {
  createResourceServer: typeof createResourceServer;
};
const { page } = (await import(built("page"))) as { page: typeof renderPage };

const server = create({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  impliedScopes: { "agents:write": ["agents:read"] },
  scopeMappings: {
    "POST /agents/:agent_id/runs": ["agents:<agent_id>:run"],
    "GET /agents/:agent_id/logs": ["agents:<agent_id>:read", "logs:read"],
    "GET /health": "public",
    "GET /policy": ["policy:read"],
  },
});
const roles = { reader: ["agents:read"], operator: ["agents:*:run"], admin: ["platform:admin"] };
const html = page(server, { title: "Policy of agents-prod", roles });

const PICTURES = [
  { name: "policy-page.png", width: 1080, height: 1000, colorScheme: "light" },
  { name: "policy-page-dark.png", width: 1080, height: 640, colorScheme: "dark" },
  { name: "policy-page-phone.png", width: 380, height: 760, colorScheme: "light" },
] as const;

const browser = await launch();
for (const { name, width, height, colorScheme } of PICTURES) {
  const tab = await browser.newPage({ viewport: { width, height }, colorScheme });
  await tab.setContent(html);
  await tab.fill("#caller", "agents:web:run agents:write");
  await tab.fill("#method", "POST");
  await tab.fill("#path", "/agents/api/runs");
  await tab.fill("#filter", "agents");
  await tab.locator("h1").click();
  writeFileSync(pictureAt(name), await tab.screenshot());
}
await browser.close();
