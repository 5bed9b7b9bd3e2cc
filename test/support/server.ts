/** Creates the servers of the tests, with every capability, from options that are plain data. */
export { createResourceServer, type ResourceServerOptions } from "scopegate/complete";
