/** Internal modules and names cannot be imported. */
import { createResourceServer } from "scopegate/dist/index.js"; // TS2307
import { guard } from "scopegate/guard"; // TS2307
import { createVerifier } from "scopegate"; // TS2305

console.log(createResourceServer, guard, createVerifier);
