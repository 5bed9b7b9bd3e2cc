export { type EndReason, revalidate, type Revalidation } from "./revalidate.ts";
export { type AccessEnd, untilExpiry } from "./until-expiry.ts";
