/**
 * Every error that Muster raises, in one table: a stable code, a retry class and the cure. `docs/errors.md` lists
 * the same codes (a test compares them). A message says cause and place; the table says what to do.
 */

/**
 * What a caller may do about an error:
 * - `terminal`: the same request will fail again; something must change first
 * - `conflict`: somebody else was faster; read again, then retry
 * - `throttled`: the server asks for patience; wait at least as long as it says
 * - `transient`: may go away by itself; retry with back-off
 */
export type RetryClass = 'terminal' | 'conflict' | 'throttled' | 'transient'

export interface ErrorEntry {
  readonly code: `MUS${number}`
  readonly retry: RetryClass
  /** What a person can do, one sentence. */
  readonly cure: string
}

/** MUS10xx data, MUS11xx configuration of a connection, MUS12xx transport, MUS13xx the server's answers, MUS14xx cache, MUS15xx command line. */
export const errorTable = {
  InvalidQuantity: {
    code: 'MUS1001',
    retry: 'terminal',
    cure: 'Write a number with an optional suffix: 100m, 1.5, 1Gi, 1e3.',
  },
  InvalidSelector: {
    code: 'MUS1002',
    retry: 'terminal',
    cure: 'Write requirements joined by commas: app=web, tier in (a,b), !legacy.',
  },
  InvalidDuration: { code: 'MUS1003', retry: 'terminal', cure: 'Write numbers with units: 90s, 1h30m, 250ms.' },
  InvalidName: {
    code: 'MUS1004',
    retry: 'terminal',
    cure: 'Use lower-case letters, digits and dashes as the message says.',
  },
  InvalidYaml: { code: 'MUS1005', retry: 'terminal', cure: 'Correct the YAML at the line that the message names.' },
  InvalidPatch: {
    code: 'MUS1006',
    retry: 'terminal',
    cure: 'Correct the patch: the message names the operation or path.',
  },
  PatchTestFailed: {
    code: 'MUS1007',
    retry: 'conflict',
    cure: 'The object is not what the patch expected; read it again and build the patch anew.',
  },
  ApplyConflict: {
    code: 'MUS1008',
    retry: 'conflict',
    cure: 'Another manager owns the named fields: leave them out, or apply with force to take them over.',
  },
  InvalidFieldSet: {
    code: 'MUS1009',
    retry: 'terminal',
    cure: 'Correct the managedFields entry that the message names, or clear managedFields.',
  },
  SchemaMismatch: {
    code: 'MUS1010',
    retry: 'terminal',
    cure: 'Give the field at the named path the type that its schema asks for.',
  },
  InvalidObject: {
    code: 'MUS1011',
    retry: 'terminal',
    cure: 'Give the object apiVersion, kind and metadata as the message says.',
  },

  KubeconfigNotFound: {
    code: 'MUS1101',
    retry: 'terminal',
    cure: 'Set KUBECONFIG to an existing file, or create ~/.kube/config.',
  },
  KubeconfigMalformed: {
    code: 'MUS1102',
    retry: 'terminal',
    cure: 'Correct the kubeconfig at the path that the message names.',
  },
  ContextNotFound: { code: 'MUS1103', retry: 'terminal', cure: 'Choose one of the contexts that the message lists.' },
  CredentialFileUnreadable: {
    code: 'MUS1104',
    retry: 'terminal',
    cure: 'Check that the file named in the kubeconfig exists and may be read.',
  },
  ExecPluginFailed: {
    code: 'MUS1105',
    retry: 'transient',
    cure: 'Run the credential plugin by hand; its output is in the message.',
  },
  OidcRefreshFailed: { code: 'MUS1106', retry: 'terminal', cure: 'Log in again to get a new refresh token.' },
  NotInCluster: {
    code: 'MUS1107',
    retry: 'terminal',
    cure: 'Run inside a Pod with a service account, or give a kubeconfig.',
  },
  CertificateInvalid: {
    code: 'MUS1108',
    retry: 'terminal',
    cure: 'Renew the client certificate or key named in the kubeconfig.',
  },

  Unreachable: {
    code: 'MUS1201',
    retry: 'transient',
    cure: 'Check that the server runs and that address, port and proxy are right.',
  },
  HostNotFound: {
    code: 'MUS1202',
    retry: 'transient',
    cure: 'Check the host name in the kubeconfig and the DNS of this machine.',
  },
  CertificateUntrusted: {
    code: 'MUS1203',
    retry: 'terminal',
    cure: 'Give the CA that signed the server certificate (certificate-authority-data).',
  },
  CertificateExpired: {
    code: 'MUS1204',
    retry: 'terminal',
    cure: 'Renew the certificate that the message names, or set the clock of this machine.',
  },
  CertificateNameMismatch: {
    code: 'MUS1205',
    retry: 'terminal',
    cure: 'Use a name that is in the certificate, or set tls-server-name.',
  },
  ConnectionLost: {
    code: 'MUS1206',
    retry: 'transient',
    cure: 'Retry; if it goes on, look at load balancers and proxies in between.',
  },
  RequestTimeout: { code: 'MUS1207', retry: 'transient', cure: 'Retry, or allow more time for this request.' },
  Aborted: { code: 'MUS1208', retry: 'terminal', cure: 'Nothing: the caller gave the request up.' },
  ProxyFailed: {
    code: 'MUS1209',
    retry: 'transient',
    cure: 'Check proxy-url (or HTTPS_PROXY) and that the proxy allows this address.',
  },
  ProtocolError: {
    code: 'MUS1210',
    retry: 'transient',
    cure: 'The peer does not speak the Kubernetes API; check the server address.',
  },
  TransportClosed: { code: 'MUS1211', retry: 'terminal', cure: 'Open a new client: this one was closed.' },
  StreamIdle: {
    code: 'MUS1212',
    retry: 'transient',
    cure: 'Nothing: the stream was silent for too long and is opened again.',
  },
  ExecFailed: {
    code: 'MUS1213',
    retry: 'terminal',
    cure: 'Check that the container runs and has the command; its error is in the message.',
  },

  BadRequest: { code: 'MUS1301', retry: 'terminal', cure: 'Correct the request as the server says.' },
  Unauthorized: {
    code: 'MUS1302',
    retry: 'terminal',
    cure: 'The server does not accept the credentials: renew the token or certificate.',
  },
  Forbidden: {
    code: 'MUS1303',
    retry: 'terminal',
    cure: 'Grant the verb on the resource that the message names to this user.',
  },
  NotFound: { code: 'MUS1304', retry: 'terminal', cure: 'Check name and namespace; for a kind, install its CRD.' },
  AlreadyExists: { code: 'MUS1305', retry: 'terminal', cure: 'Choose another name, or update the object that exists.' },
  Conflict: {
    code: 'MUS1306',
    retry: 'conflict',
    cure: 'Read the object again and repeat the change on the new version.',
  },
  Gone: { code: 'MUS1307', retry: 'conflict', cure: 'The resource version is too old: list again.' },
  Invalid: { code: 'MUS1308', retry: 'terminal', cure: 'Correct the fields that the message names.' },
  TooManyRequests: { code: 'MUS1309', retry: 'throttled', cure: 'Wait as long as the server says, then retry.' },
  ServerError: { code: 'MUS1310', retry: 'transient', cure: 'Retry; if it goes on, read the log of the API server.' },
  ServerTimeout: { code: 'MUS1311', retry: 'transient', cure: 'Retry after the time that the server says.' },
  ServiceUnavailable: {
    code: 'MUS1312',
    retry: 'transient',
    cure: 'Wait until the server (or the aggregated API behind it) is up again.',
  },
  MethodNotAllowed: { code: 'MUS1313', retry: 'terminal', cure: 'The resource does not offer this verb.' },
  NotAcceptable: { code: 'MUS1314', retry: 'terminal', cure: 'The server cannot answer in the wanted representation.' },
  UnsupportedMediaType: {
    code: 'MUS1315',
    retry: 'terminal',
    cure: 'The server does not read this patch or body type for this resource.',
  },
  RequestTooLarge: { code: 'MUS1316', retry: 'terminal', cure: 'Make the object smaller; servers take about 3 MiB.' },
  UnexpectedAnswer: {
    code: 'MUS1317',
    retry: 'transient',
    cure: 'Check that the address belongs to a Kubernetes API server.',
  },
  KindNotServed: {
    code: 'MUS1318',
    retry: 'transient',
    cure: 'Install the CRD of this kind, or correct apiVersion and kind.',
  },

  CacheClosed: {
    code: 'MUS1401',
    retry: 'terminal',
    cure: 'Subscribe again: this subscription or its cache was closed.',
  },
  IndexNotFound: { code: 'MUS1402', retry: 'terminal', cure: 'Declare the index when subscribing.' },
  SyncTimeout: {
    code: 'MUS1403',
    retry: 'transient',
    cure: 'Look at the state of the informer: it names why it has not synced.',
  },
  OutOfScope: {
    code: 'MUS1404',
    retry: 'terminal',
    cure: 'Subscribe to the namespace, selector or fields that are to be read.',
  },

  UnknownCommand: { code: 'MUS1501', retry: 'terminal', cure: 'Run muster help to see the commands.' },
  UnknownFlag: { code: 'MUS1502', retry: 'terminal', cure: 'Run muster help COMMAND to see its flags.' },
  InvalidFlag: { code: 'MUS1503', retry: 'terminal', cure: 'Give the flag a value as its help says.' },
  BinaryMissing: { code: 'MUS1504', retry: 'terminal', cure: 'Install the program that the message names.' },
} as const

export type ErrorName = keyof typeof errorTable

export class MusterError extends Error {
  override readonly name: ErrorName
  readonly code: string
  readonly retry: RetryClass
  /** The least time to wait before a retry, where somebody said so. */
  readonly retryAfterMs: number | undefined

  constructor(
    name: ErrorName,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = name
    const entry: ErrorEntry = errorTable[name]
    this.code = entry.code
    this.retry = entry.retry
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Cause, place, cure, code: the line that a person gets to see. */
export function describeError(error: unknown): string {
  if (!(error instanceof MusterError)) return error instanceof Error ? error.message : String(error)
  return `${error.code} ${error.name}: ${error.message} ${errorTable[error.name].cure} See docs/errors.md#${error.code.toLowerCase()}`
}

export function isMusterError(error: unknown, ...names: readonly ErrorName[]): error is MusterError {
  return error instanceof MusterError && (names.length === 0 || names.includes(error.name))
}
