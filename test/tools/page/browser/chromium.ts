/** A real Chromium; where there is none, tests are skipped with one line. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { reportMissing } from "../../../support/missing.ts";

const PATH = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const ARGUMENTS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

export const hasChromium = existsSync(PATH);
if (!hasChromium)
  reportMissing("the tests in Chromium", `there is none at ${PATH}: install it, or set CHROMIUM_PATH`);

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: PATH, args: ARGUMENTS });
