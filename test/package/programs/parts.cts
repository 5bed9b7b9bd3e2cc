/** The CommonJS module of a project with both module systems. */
import scopegate = require("scopegate");
import adapter = require("scopegate/express");

const nameOf = (principal: scopegate.Principal | undefined): string => principal?.userId ?? "nobody";
const countRules = (server: scopegate.ResourceServer): number => [...server.routes].length;

export = {
  ConfigurationError: scopegate.ConfigurationError,
  hasScopes: scopegate.hasScopes,
  principalOf: adapter.principalOf,
  protect: adapter.protect,
  nameOf,
  countRules,
};
