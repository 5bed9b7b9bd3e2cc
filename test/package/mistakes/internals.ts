/** Internal modules and names cannot be imported. */
// @ts-expect-error -- files of the build are not entries
import { createResourceServer } from "scopegate/dist/index.js";
// @ts-expect-error -- there is no such entry
import { guard } from "scopegate/guard";
// @ts-expect-error -- internal functions have no stable meaning
import { createVerifier } from "scopegate";

console.log(createResourceServer, guard, createVerifier);
