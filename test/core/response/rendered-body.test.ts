import { describe, expect, it } from "vitest";
import type { Problem } from "../../../src/core/response/problem.ts";
import { renderBody } from "../../../src/core/response/rendered-body.ts";

const PROBLEM: Problem = {
  type: "about:blank",
  title: "Unauthorized",
  status: 401,
  detail: "The request has no access token.",
  code: "credential_missing",
};

describe("renderBody", () => {
  it("renders a frozen problem once", () => {
    let renderings = 0;
    const toJSON = () => ((renderings += 1), PROBLEM);
    const shared = Object.freeze({ ...PROBLEM, toJSON });
    for (let time = 0; time < 3; time += 1) expect(JSON.parse(renderBody(shared))).toEqual(PROBLEM);
    expect(renderings).toBe(1);
  });

  it("returns a string as it is", () => {
    expect(renderBody('<p>"No"</p>')).toBe('<p>"No"</p>');
  });

  it("renders a problem again if it can change", () => {
    const own = { ...PROBLEM, detail: "before" };
    renderBody(own);
    own.detail = "after";
    expect(JSON.parse(renderBody(own))).toMatchObject({ detail: "after" });
  });
});
