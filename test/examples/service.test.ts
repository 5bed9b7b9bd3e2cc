import { AuditError } from "scopegate/audit";
import { describe, expect, it, onTestFinished } from "vitest";
import { policy } from "../../examples/knowledge-service/policy.ts";
import { type Framework, FRAMEWORKS, startService } from "../../examples/knowledge-service/service.ts";
import { createIssuer } from "../support/issuer.ts";

const { publicPem } = createIssuer();
const start = (framework: Framework, defaultScopeMappings: typeof policy) =>
  startService(
    framework,
    { serviceId: "agents-prod", verificationKeys: [publicPem], defaultScopeMappings },
    0,
  );

describe.each(Object.keys(FRAMEWORKS) as Framework[])("the service in %s", (framework) => {
  it("starts with a rule for each route and a route for each rule", async () => {
    const service = await start(framework, policy);
    onTestFinished(() => service.close());
    expect(service.audit).toMatchObject({ ok: true, summary: "15 routes, each with a rule" });
    // The handler of GET /sessions filters its list.
    expect(service.audit.findings.map(({ kind }) => kind)).toEqual(["collection_unfiltered"]);
  });

  it("does not start if a route has no rule, and prints the rule to add", async () => {
    const { "GET /teams": _, ...others } = policy;
    const started = start(framework, others);
    await expect(started).rejects.toBeInstanceOf(AuditError);
    await expect(started).rejects.toThrow('Add to scopeMappings: "GET /teams": ["resource:action"]');
  });
});
