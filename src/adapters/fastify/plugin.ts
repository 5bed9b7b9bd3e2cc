/**
 * Makes Fastify run a plugin on the instance that registers it. Without `skip-override`, its hooks would only
 * run for a child of that instance, which has no routes: every route would be open.
 */
export function describePlugin<Plugin extends object>(plugin: Plugin, name: string): Plugin {
  return Object.assign(plugin, {
    [Symbol.for("skip-override")]: true,
    [Symbol.for("fastify.display-name")]: name,
    // Registration fails with an older version of Fastify.
    [Symbol.for("plugin-meta")]: { name, fastify: ">=4.10" },
  });
}
