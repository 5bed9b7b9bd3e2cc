import { expect, it } from "vitest";
import { watchProperty } from "../../../src/core/runtime/watch-property.ts";

it("names a possible cause if other code has locked the property", () => {
  const holder = Object.defineProperty({ route: undefined }, "route", { configurable: false });
  expect(() => {
    watchProperty(holder, "route", () => undefined);
  }).toThrow(
    "Other code has locked the property `route` of this application's requests, so the routes behind protect can't be checked. If the other code is an old copy of scopegate, which `npm ls scopegate` shows, update it.",
  );
});
