/** A small server in plain JavaScript, to be run with different ways to import the package. */
import { createIssuer } from "../support/issuer.ts";
import { run } from "./packed.ts";

const PROGRAM = `
const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [process.env.JWT_PUBLIC_KEY],
  scopeMappings: { "GET /agents": ["agents:read"] },
});
let mistake;
try { createResourceServer({}); } catch (error) { mistake = error; }
const app = express();
app.use(protect(server));
app.get("/agents", requireScopes("agents:run"), (req, res) => res.json(principalOf(req).userId));
const listening = app.listen(0, async () => {
  const authorization = "Bearer " + process.env.TOKEN;
  for (const headers of [{}, { authorization }]) {
    const answer = await fetch("http://127.0.0.1:" + listening.address().port + "/agents", { headers });
    console.log(answer.status, answer.ok ? await answer.json() : answer.headers.get("www-authenticate"));
  }
  console.log(mistake instanceof ConfigurationError);
  listening.close();
});`;

/**
 * Returns three lines: the responses without and with a token, and whether the error is a
 * `ConfigurationError`.
 */
export async function serve(project: string, file: string, imports: string): Promise<string> {
  const issuer = createIssuer();
  const token = await issuer.token({ scopes: ["agents:read", "agents:run"] });
  return run(project, file, imports + PROGRAM, { JWT_PUBLIC_KEY: issuer.publicPem, TOKEN: token });
}
