/** Every command, in the order of the help. */
import { audit } from "./audit.ts";
import { explain } from "./explain.ts";
import { init } from "./init.ts";
import { issuer } from "./issuer.ts";
import { key } from "./key.ts";
import { lint } from "./lint.ts";
import { matrix } from "./matrix.ts";
import { openapi } from "./openapi.ts";
import { page } from "./page.ts";
import { revoke } from "./revoke.ts";
import { routes } from "./routes.ts";
import { token } from "./token.ts";

export const commands = [
  init,
  token,
  issuer,
  explain,
  audit,
  routes,
  matrix,
  lint,
  openapi,
  page,
  revoke,
  key,
];
