/** What a transport needs to know about one API server, independent of its source. */

export interface Connection {
  /** The display name: the context, `in-cluster`, `embedded`. */
  readonly name: string
  /** `https://host:port`, with a path prefix if the server is behind one. */
  readonly server: string
  readonly tls: TlsSettings
  readonly credentials: Credentials
  readonly impersonate?: Impersonation | undefined
  /** `http://`, `https://` or `socks5://`. An empty string disables the proxy of the environment. */
  readonly proxyUrl?: string | undefined
  /** The namespace of the context. @default "default" */
  readonly namespace: string
  /** Of everything that the source of the connection says: another one means that the source has changed. */
  readonly fingerprint?: string | undefined
  /**
   * Reads the source again: a kubeconfig, the mounted service account. Undefined if it says the same as before. A transport
   * calls it when the server cannot be reached, is no longer trusted, or rejects the credentials.
   */
  readonly reload?: ((this: void) => Promise<Connection | undefined>) | undefined
}

export interface TlsSettings {
  /** PEM. Without one, the machine's trust store is used. */
  readonly ca?: string | undefined
  readonly insecureSkipVerify?: boolean | undefined
  readonly serverName?: string | undefined
}

export interface Impersonation {
  readonly user: string
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

/** The credentials of a connection. Called before each request and each new connection, so that rotation needs no restart. */
export interface Credentials {
  /** Headers for the next request; renewed first if they are about to expire. */
  headers(signal?: AbortSignal): Promise<Readonly<Record<string, string>>>
  /** Client certificate for the next connection. If `id` changes, connections with the old certificate are retired. */
  certificate(signal?: AbortSignal): Promise<ClientCertificate | undefined>
  /**
   * The server responded with 401: drop cached credentials. True if a retry may succeed. `sent` are the rejected headers:
   * late responses to a burst of requests must not discard credentials that the first of them renewed.
   */
  refused(sent?: Readonly<Record<string, string>>): boolean
}

export interface ClientCertificate {
  readonly id: string
  readonly cert: string
  readonly key: string
}
