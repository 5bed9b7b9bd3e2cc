/**
 * `npm run docs:screenshots`: opens the policy page of the build in Chromium, and writes pictures to this folder. Also
 * writes the picture that other sites show beside a link to the site.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { renderPolicy } from "../../site/policy.ts";
import { launch } from "../../test/tools/page/browser/chromium.ts";

const pictureAt = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const html = await renderPolicy();

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

const social = await browser.newPage({ viewport: { width: 1200, height: 630 } });
await social.setContent(`<!doctype html>
<style>
  body { display: flex; flex-direction: column; justify-content: center; gap: 28px; margin: 0; padding: 0 80px; height: 630px; background: #f6f8fa; color: #1f2328; font-family: sans-serif }
  header { display: flex; align-items: center; gap: 32px; font-size: 84px; font-weight: bold }
  svg { width: 120px; height: 120px }
  p { margin: 0; font-size: 40px; color: #59636e }
  pre { margin: 0; padding: 28px 36px; border-radius: 16px; background: #fff; border: 2px solid #d1d9e0; font-size: 30px; line-height: 1.5 }
</style>
<header>${readFileSync(pictureAt("logo.svg"), "utf8")} scopegate</header>
<p>Every route, one table. JWT and scopes for Node.js.</p>
<pre>"GET /orders": ["orders:read"],
"POST /orders": ["orders:write"],
"GET /stores/:id/orders": ["stores:&lt;id&gt;:read"],
"GET /health": "public",</pre>`);
writeFileSync(pictureAt("social.png"), await social.screenshot());
await browser.close();
