import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../support/folder.ts";
import { buildAndPack, findPacked, readPacked } from "../packed.ts";

const digestOf = (file: string): string => createHash("sha512").update(readFileSync(file)).digest("hex");

/** For a second build with types, on a busy machine. */
const TIMEOUT_MS = 900_000;

it("keeps the same bytes when it is built and packed again", { timeout: TIMEOUT_MS }, () => {
  const folder = temporaryFolder("again");
  buildAndPack(folder);
  expect(digestOf(readPacked(folder).tarball)).toBe(digestOf(findPacked().tarball));
});
