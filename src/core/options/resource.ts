/** The option `resource`. */
export interface ResourceOptions {
  /**
   * The resource identifier (RFC 8707): the absolute URL that clients use, without a fragment; https, or http
   * on this machine. It is the default of `audience`, which must contain it.
   */
  readonly id: string;
  /** The issuers that give tokens to clients. Default: the `issuer` of the server, or of all `issuers`. */
  readonly authorizationServers?: readonly string[];
  /** The scopes in the metadata. Default: the scopes of the table without templates such as `<id>`. */
  readonly scopesSupported?: readonly string[];
  /** More properties of the document, by their names in RFC 9728: `{ resource_name: "Agents" }`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}
