/** A tenant with an issuer of its own attacks the other tenants: it signs whatever it likes with its key. */
import { expect, it } from "vitest";
import { createFinding, createTenant } from "../capabilities/issuers/support.ts";

const ADMIN = "platform:admin";
const [victim, attacker] = [createTenant("acme"), createTenant("mallory")];

/** Spellings of an issuer that some program could read as the issuer itself. */
const spellingsOf = (issuer: string): readonly unknown[] => [
  issuer,
  `${issuer}/`,
  `${issuer}#`,
  `${issuer}?`,
  `${issuer}:443`,
  ` ${issuer}`,
  `${issuer} `,
  `${issuer}\u0000`,
  `${issuer}\u200b`,
  issuer.toUpperCase(),
  issuer.replace("https:", "HTTPS:"),
  issuer.replace("https:", "http:"),
  issuer.replace("acme", "ACME"),
  issuer.replace("acme", "%61cme"),
  issuer.replace("acme", "\u0430cme"),
  issuer.replace("https://", "https://x@"),
  [issuer],
  { toString: issuer },
  null,
  "__proto__",
  "constructor",
  "",
];

it("accepts none of 1,000 hostile tokens of a tenant, and passes only names to `find`", async () => {
  const { answer, asked, pass } = createFinding([victim, attacker], {
    options: {
      adminScope: ADMIN,
      impliedScopes: { root: [ADMIN], "orgs:admin": ["orgs:read", "orgs:cross"] },
      scopeMappings: {
        "* /orgs/:org{/*path}": {
          scopes: ["orgs:read"],
          where: { org: { tenant: true } },
          unless: ["orgs:cross"],
        },
        "GET /admin": [ADMIN],
        "GET /reports": ["reports:read"],
      },
    },
  });
  // The attacker is a valid tenant, so nothing is refused only because it's unknown.
  const own = await attacker.issuer.token({ scopes: ["orgs:read"] });
  expect(await answer(own, "/orgs/mallory")).toBe("200");
  expect(await answer(await victim.issuer.token({ scopes: ["orgs:read"] }))).toBe("200");

  const targets = ["/orgs/acme", "/orgs/acme/users", "/admin", "/reports", "/orgs/ACME", "/orgs/acme%2fx"];
  const issuers = [attacker.record.issuer, ...spellingsOf(victim.record.issuer)];
  const grants = [
    ["orgs:read"],
    ["orgs:read", "orgs:cross", "orgs:admin", "root", ADMIN, "reports:read", "*"],
  ];
  const claims = [
    {},
    { tenant: "acme", org: "acme", org_id: "acme", tid: "acme" },
    { sub: "user-1", azp: "acme" },
  ];
  const headers = [{}, { kid: victim.issuer.key.kid }, { kid: undefined }];
  let count = 0;
  const accepted: unknown[] = [];
  for (const iss of issuers)
    for (const scopes of grants)
      for (const claim of claims)
        for (const header of headers) {
          const token = await attacker.issuer.token({ claims: { ...claim, scopes, iss }, header });
          for (const target of targets) {
            count += 1;
            const result = await answer(token, target);
            if (result === "200" || result.startsWith("5"))
              accepted.push({ iss, scopes, claim, header, target, result });
          }
          pass(0.01);
        }
  expect(count).toBeGreaterThanOrEqual(1_000);
  expect(accepted).toEqual([]);
  const strings = issuers.filter((iss) => typeof iss === "string");
  for (const call of asked.mock.calls) {
    expect(call).toHaveLength(1);
    expect(strings).toContain(call[0]);
  }
});
