/** What a transport must know about one API server, whatever it was read from. */

export interface Connection {
  /** How people call it: the context's name, `in-cluster`, `embedded`. */
  readonly name: string
  /** `https://host:port`, with a path prefix where the server sits behind one. */
  readonly server: string
  readonly tls: TlsSettings
  readonly credentials: Credentials
  readonly impersonate?: Impersonation | undefined
  /** `http://`, `https://` or `socks5://`. An empty string means: no proxy, whatever the environment says. */
  readonly proxyUrl?: string | undefined
  /** The namespace of the context. @default "default" */
  readonly namespace: string
}

export interface TlsSettings {
  /** PEM. Without one, the machine's own trust store decides. */
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

/** Who we are. Asked before each request and each new connection, so that rotation needs no restart. */
export interface Credentials {
  /** Headers for the next request; renewed first when they are about to expire. */
  headers(signal?: AbortSignal): Promise<Readonly<Record<string, string>>>
  /** Client certificate for the next connection. A changed `id` means: connections made with the old one are retired. */
  certificate(signal?: AbortSignal): Promise<ClientCertificate | undefined>
  /**
   * The server said 401: forget what is cached. True when a retry may fare better. `sent` are the headers that were
   * refused: late answers to a burst of requests must not throw away what the first of them had renewed.
   */
  refused(sent?: Readonly<Record<string, string>>): boolean
}

export interface ClientCertificate {
  readonly id: string
  readonly cert: string
  readonly key: string
}
