/** `npm run docs:screenshots`: opens the policy page of the build in Chromium, and writes pictures to this folder. */
import { writeFileSync } from "node:fs";
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
await browser.close();
