/**
 * Every error that Muster raises, in one table: a stable code, a retry class and the cure. `docs/errors.md` is generated
 * from it. The message of an error has cause and place; the table says what to do.
 */

/**
 * What a caller may do about an error:
 * - `terminal`: the same request will fail again; something must change first
 * - `conflict`: another writer was faster; read again, then retry
 * - `throttled`: the server throttles the request; wait at least as long as it says
 * - `transient`: may go away by itself; retry with back-off
 */
export type RetryClass = 'terminal' | 'conflict' | 'throttled' | 'transient'

export interface ErrorEntry {
  readonly code: `MUS${number}`
  readonly retry: RetryClass
  /** What happened, one sentence: for the documentation. */
  readonly meaning: string
  /** What a user can do, one sentence. */
  readonly cure: string
}

/** MUS10xx data, MUS11xx configuration of a connection, MUS12xx transport, MUS13xx responses of the server, MUS14xx cache, MUS15xx command line, MUS16xx the embedded API server, MUS17xx operators, MUS18xx the sidecar, MUS19xx the manager, MUS20xx the operator contract. */
export const errorTable = {
  InvalidQuantity: {
    code: 'MUS1001',
    retry: 'terminal',
    meaning: 'Not a valid quantity (CPU, memory, a count).',
    cure: 'Write a number with an optional suffix: 100m, 1.5, 1Gi, 1e3.',
  },
  InvalidSelector: {
    code: 'MUS1002',
    retry: 'terminal',
    meaning: 'Not a valid label or field selector.',
    cure: 'Write requirements joined by commas: app=web, tier in (a,b), !legacy.',
  },
  InvalidDuration: {
    code: 'MUS1003',
    retry: 'terminal',
    meaning: 'Not a valid duration.',
    cure: 'Write numbers with units: 90s, 1h30m, 250ms.',
  },
  InvalidName: {
    code: 'MUS1004',
    retry: 'terminal',
    meaning: 'Not a valid Kubernetes name.',
    cure: 'Use the format that the message describes, usually lower-case letters, digits and dashes.',
  },
  InvalidYaml: {
    code: 'MUS1005',
    retry: 'terminal',
    meaning: 'A YAML document cannot be parsed.',
    cure: 'Correct the YAML at the line in the message.',
  },
  InvalidPatch: {
    code: 'MUS1006',
    retry: 'terminal',
    meaning: 'A patch is malformed, or cannot be applied to its object.',
    cure: 'Correct the patch: the message names the operation or path.',
  },
  PatchTestFailed: {
    code: 'MUS1007',
    retry: 'conflict',
    meaning: 'A `test` operation of a JSON patch failed.',
    cure: 'The live object differs from what the patch expects; read it again and create the patch anew.',
  },
  ApplyConflict: {
    code: 'MUS1008',
    retry: 'conflict',
    meaning: 'A server-side apply would change fields that another field manager owns.',
    cure: 'Omit the named fields, or apply with force to take over their ownership.',
  },
  InvalidFieldSet: {
    code: 'MUS1009',
    retry: 'terminal',
    meaning: 'An entry of metadata.managedFields cannot be decoded.',
    cure: 'Correct the managedFields entry in the message, or clear managedFields.',
  },
  SchemaMismatch: {
    code: 'MUS1010',
    retry: 'terminal',
    meaning: 'A value does not have the type that its schema requires.',
    cure: 'Give the field at the named path the type of its schema.',
  },
  InvalidObject: {
    code: 'MUS1011',
    retry: 'terminal',
    meaning: 'A Kubernetes object lacks a required part: apiVersion, kind or metadata.',
    cure: 'Add the part that the message names.',
  },
  InvalidOwner: {
    code: 'MUS1012',
    retry: 'terminal',
    meaning: 'An owner reference to this owner is not allowed.',
    cure: 'Set owners only in the same namespace (or cluster-scoped ones), and only one controller per object.',
  },
  InvalidExpression: {
    code: 'MUS1013',
    retry: 'terminal',
    meaning: 'A CEL expression does not compile.',
    cure: 'Correct the expression at the position in the message.',
  },
  ExpressionFailed: {
    code: 'MUS1014',
    retry: 'terminal',
    meaning: 'A CEL expression failed for the given data.',
    cure: 'Guard optional fields with has() or optionals, or correct the data.',
  },
  InvalidProtobuf: {
    code: 'MUS1015',
    retry: 'terminal',
    meaning: 'A protobuf body cannot be decoded, or does not match the message of its kind.',
    cure: 'Send protobuf as written by a Kubernetes client library, or send JSON.',
  },

  KubeconfigNotFound: {
    code: 'MUS1101',
    retry: 'terminal',
    meaning: 'No kubeconfig file was found.',
    cure: 'Set KUBECONFIG to an existing file, or create ~/.kube/config.',
  },
  KubeconfigMalformed: {
    code: 'MUS1102',
    retry: 'terminal',
    meaning: 'A kubeconfig file is invalid.',
    cure: 'Correct the kubeconfig at the path in the message.',
  },
  ContextNotFound: {
    code: 'MUS1103',
    retry: 'terminal',
    meaning: 'The kubeconfig has no context (or cluster, or user) of this name.',
    cure: 'Choose one of the contexts that the message lists.',
  },
  CredentialFileUnreadable: {
    code: 'MUS1104',
    retry: 'terminal',
    meaning: 'A certificate, key or token file named in the kubeconfig cannot be read.',
    cure: 'Check that the file exists and is readable.',
  },
  ExecPluginFailed: {
    code: 'MUS1105',
    retry: 'transient',
    meaning: 'The credential plugin of the kubeconfig failed or returned no credentials.',
    cure: 'Run the credential plugin by hand; its output is in the message.',
  },
  OidcRefreshFailed: {
    code: 'MUS1106',
    retry: 'terminal',
    meaning: 'The identity provider did not accept the refresh token.',
    cure: 'Log in again to get a new refresh token.',
  },
  NotInCluster: {
    code: 'MUS1107',
    retry: 'terminal',
    meaning: 'The service account files and environment variables of a Pod are missing.',
    cure: 'Run inside a Pod with a service account, or pass a kubeconfig.',
  },
  CertificateInvalid: {
    code: 'MUS1108',
    retry: 'terminal',
    meaning: 'A client certificate or key cannot be used.',
    cure: 'Renew the client certificate or key named in the kubeconfig.',
  },

  Unreachable: {
    code: 'MUS1201',
    retry: 'transient',
    meaning: 'No connection to the server could be made; the request was not sent.',
    cure: 'Check that the server runs, and check address, port and proxy.',
  },
  HostNotFound: {
    code: 'MUS1202',
    retry: 'transient',
    meaning: 'The host name of the server could not be resolved.',
    cure: 'Check the host name in the kubeconfig and the DNS of this machine.',
  },
  CertificateUntrusted: {
    code: 'MUS1203',
    retry: 'terminal',
    meaning: 'The certificate of the server is signed by an unknown authority.',
    cure: 'Configure the CA that signed the server certificate (certificate-authority-data).',
  },
  CertificateExpired: {
    code: 'MUS1204',
    retry: 'terminal',
    meaning: 'A certificate has expired or is not yet valid.',
    cure: 'Renew the certificate in the message, or set the clock of this machine.',
  },
  CertificateNameMismatch: {
    code: 'MUS1205',
    retry: 'terminal',
    meaning: 'The certificate of the server is for another host name.',
    cure: 'Use a host name that is in the certificate, or set tls-server-name.',
  },
  ConnectionLost: {
    code: 'MUS1206',
    retry: 'transient',
    meaning:
      'The connection broke before the response was complete; it is unknown whether the server carried out the request.',
    cure: 'Retry; if it persists, check load balancers and proxies in between.',
  },
  RequestTimeout: {
    code: 'MUS1207',
    retry: 'transient',
    meaning: 'The request timed out; it is unknown whether the server carried it out.',
    cure: 'Retry, or set a longer time-out.',
  },
  Aborted: {
    code: 'MUS1208',
    retry: 'terminal',
    meaning: 'The abort signal of the request fired.',
    cure: 'None: the caller aborted the request.',
  },
  ProxyFailed: {
    code: 'MUS1209',
    retry: 'transient',
    meaning: 'The proxy refused the connection or could not be reached.',
    cure: 'Check proxy-url (or HTTPS_PROXY) and that the proxy allows this address.',
  },
  ProtocolError: {
    code: 'MUS1210',
    retry: 'transient',
    meaning: 'Received data violates the protocol.',
    cure: 'Check the server address: the peer does not speak the Kubernetes API.',
  },
  TransportClosed: {
    code: 'MUS1211',
    retry: 'terminal',
    meaning: 'A request was made with a closed client.',
    cure: 'Open a new client.',
  },
  StreamIdle: {
    code: 'MUS1212',
    retry: 'transient',
    meaning: 'A stream was silent for so long that its connection is considered dead.',
    cure: 'None: the stream is opened again.',
  },
  ExecFailed: {
    code: 'MUS1213',
    retry: 'terminal',
    meaning: 'A command in a container could not be run, or did not run to its end.',
    cure: 'Check that the container runs and has the command; its error is in the message.',
  },

  BadRequest: {
    code: 'MUS1301',
    retry: 'terminal',
    meaning: 'The server could not parse the request.',
    cure: 'Correct the request as described by the server.',
  },
  Unauthorized: {
    code: 'MUS1302',
    retry: 'terminal',
    meaning: 'The server did not accept the credentials.',
    cure: 'Renew the token or certificate.',
  },
  Forbidden: {
    code: 'MUS1303',
    retry: 'terminal',
    meaning: 'The user is not allowed to perform this request.',
    cure: 'Grant the user the verb on the resource that the message names (RBAC).',
  },
  NotFound: {
    code: 'MUS1304',
    retry: 'terminal',
    meaning: 'The object does not exist.',
    cure: 'Check name and namespace; for a kind, install its CRD.',
  },
  AlreadyExists: {
    code: 'MUS1305',
    retry: 'terminal',
    meaning: 'An object with this name already exists.',
    cure: 'Choose another name, or update the existing object.',
  },
  Conflict: {
    code: 'MUS1306',
    retry: 'conflict',
    meaning: 'The object was changed since it was read, or a precondition (uid, resourceVersion) does not match.',
    cure: 'Read the object again and repeat the change on the new version.',
  },
  Gone: {
    code: 'MUS1307',
    retry: 'conflict',
    meaning: 'The resource version or continue token is too old.',
    cure: 'List again.',
  },
  Invalid: {
    code: 'MUS1308',
    retry: 'terminal',
    meaning: 'The object failed validation.',
    cure: 'Correct the fields that the message names.',
  },
  TooManyRequests: {
    code: 'MUS1309',
    retry: 'throttled',
    meaning: 'The server throttles the request, or a disruption budget blocks an eviction.',
    cure: 'Wait as long as Retry-After says, then retry.',
  },
  ServerError: {
    code: 'MUS1310',
    retry: 'transient',
    meaning: 'Internal error of the server.',
    cure: 'Retry; if it persists, read the log of the API server.',
  },
  ServerTimeout: {
    code: 'MUS1311',
    retry: 'transient',
    meaning: 'The server timed out; it is unknown whether it carried out the request.',
    cure: 'Wait as long as Retry-After says, then retry.',
  },
  ServiceUnavailable: {
    code: 'MUS1312',
    retry: 'transient',
    meaning: 'The server is starting, stopping or overloaded, or an aggregated API server is down.',
    cure: 'Wait until the server (or the aggregated API server) is available.',
  },
  MethodNotAllowed: {
    code: 'MUS1313',
    retry: 'terminal',
    meaning: 'The resource does not support this verb.',
    cure: 'Use a verb that discovery lists for the resource.',
  },
  NotAcceptable: {
    code: 'MUS1314',
    retry: 'terminal',
    meaning: 'The server does not support the requested representation (Accept).',
    cure: 'Request another representation, such as application/json.',
  },
  UnsupportedMediaType: {
    code: 'MUS1315',
    retry: 'terminal',
    meaning: 'The server does not support the content type of the body for this resource.',
    cure: 'Use another patch type or content type.',
  },
  RequestTooLarge: {
    code: 'MUS1316',
    retry: 'terminal',
    meaning: 'The request exceeds the size limit of the server.',
    cure: 'Make the object smaller; the limit is about 3 MiB.',
  },
  UnexpectedAnswer: {
    code: 'MUS1317',
    retry: 'transient',
    meaning: 'The response does not come from a Kubernetes API server.',
    cure: 'Check that the address belongs to a Kubernetes API server.',
  },
  KindNotServed: {
    code: 'MUS1318',
    retry: 'transient',
    meaning: 'The server does not serve this kind or resource.',
    cure: 'Install the CRD of this kind, or correct apiVersion and kind.',
  },

  CacheClosed: {
    code: 'MUS1401',
    retry: 'terminal',
    meaning: 'A cache or subscription was used after it was closed.',
    cure: 'Subscribe again.',
  },
  IndexNotFound: {
    code: 'MUS1402',
    retry: 'terminal',
    meaning: 'A read used an index that was not declared.',
    cure: 'Declare the index when subscribing.',
  },
  SyncTimeout: {
    code: 'MUS1403',
    retry: 'transient',
    meaning: 'The cache did not sync within the time-out.',
    cure: 'Check the freshness of the informer: it contains the reason.',
  },
  OutOfScope: {
    code: 'MUS1404',
    retry: 'terminal',
    meaning: 'A read requests more than the subscription covers.',
    cure: 'Subscribe to the namespace, selector or fields that are read.',
  },
  NotSynced: {
    code: 'MUS1405',
    retry: 'transient',
    meaning: 'A read before the first list was complete.',
    cure: 'Wait for synced() before reading.',
  },

  UnknownCommand: {
    code: 'MUS1501',
    retry: 'terminal',
    meaning: 'There is no such muster command.',
    cure: 'Run muster help to see the commands.',
  },
  UnknownFlag: {
    code: 'MUS1502',
    retry: 'terminal',
    meaning: 'The command has no such flag.',
    cure: 'Run muster help COMMAND to see its flags.',
  },
  InvalidFlag: {
    code: 'MUS1503',
    retry: 'terminal',
    meaning: 'The value of a flag is not valid.',
    cure: 'Use a value that the help of the command describes.',
  },
  BinaryMissing: {
    code: 'MUS1504',
    retry: 'terminal',
    meaning: 'A required program is not installed on this machine.',
    cure: 'Install the program in the message.',
  },
  ModuleUnusable: {
    code: 'MUS1505',
    retry: 'terminal',
    meaning: 'A file that should export an operator or a kind cannot be loaded, or has no such export.',
    cure: 'Correct the file or the path in the message.',
  },
  AlreadyThere: {
    code: 'MUS1506',
    retry: 'terminal',
    meaning: 'A file or folder to be written already exists; it was not changed.',
    cure: 'Choose another name, or move the existing one.',
  },
  ManagerNotFound: {
    code: 'MUS1507',
    retry: 'terminal',
    meaning: 'No running manager was found, or the response does not come from a manager.',
    cure: 'Start one with muster up or muster run in this folder, or set the address of its status server with --url.',
  },
  PortTaken: {
    code: 'MUS1508',
    retry: 'terminal',
    meaning: 'Another program listens on the requested port.',
    cure: 'Choose another port, or stop the other program.',
  },

  StorageDamaged: {
    code: 'MUS1601',
    retry: 'terminal',
    meaning: 'The data folder of an embedded cluster is corrupt; none of it is served.',
    cure: 'Restore the folder from a backup, or start with another --data folder.',
  },
  StorageFailed: {
    code: 'MUS1602',
    retry: 'transient',
    meaning: 'A change could not be written to the data folder; it was rolled back.',
    cure: 'Free disk space, or fix the cause in the message; then retry.',
  },
  StorageInUse: {
    code: 'MUS1603',
    retry: 'terminal',
    meaning: 'Another process uses this data folder or this kubeconfig file.',
    cure: 'Stop the process in the message; or use another --data folder and another --kubeconfig-out, or start in another folder.',
  },
  GatherUnreadable: {
    code: 'MUS1604',
    retry: 'terminal',
    meaning: 'A must-gather directory, or a file in it, cannot be read.',
    cure: 'Check the path in the message; unless strict, broken files are skipped.',
  },
  LockUnavailable: {
    code: 'MUS1605',
    retry: 'terminal',
    meaning: 'A folder cannot be locked against other processes.',
    cure: 'Use a writable folder on a local file system, and a Node with SQLite.',
  },
  SigningKeyInvalid: {
    code: 'MUS1606',
    retry: 'terminal',
    meaning: 'The signing key of service account tokens is not valid.',
    cure: 'Restore service-accounts.pem from a backup, or remove it: then a new key is created, and existing tokens become invalid.',
  },

  UnknownKind: {
    code: 'MUS1701',
    retry: 'terminal',
    meaning: 'A kind is not built in, and its plural and scope are unknown.',
    cure: 'Correct its name; or give its plural and scope, or define it with defineKind.',
  },
  UndeclaredInput: {
    code: 'MUS1702',
    retry: 'terminal',
    meaning: 'A controller reads a kind, namespace or name that it did not declare.',
    cure: "Add it to the controller's reads: the kind, or exactly(…), labelled(…), generated(…), referenced(…).",
  },
  UndeclaredOutput: {
    code: 'MUS1703',
    retry: 'terminal',
    meaning: 'A plan writes a kind or an object name that its operator did not declare as output.',
    cure: 'Make it a resource of the controller, or add the kind or the name to its writes.',
  },
  InvalidResource: {
    code: 'MUS1704',
    retry: 'terminal',
    meaning: 'The definition of a resource is inconsistent, or does not match the object it builds.',
    cure: 'Correct the resource in the message.',
  },
  InvalidController: {
    code: 'MUS1705',
    retry: 'terminal',
    meaning: 'The definition of a controller or operator is inconsistent.',
    cure: 'Correct the definition in the message.',
  },
  InvalidFieldPath: {
    code: 'MUS1706',
    retry: 'terminal',
    meaning: 'Not a valid field path.',
    cure: 'Write members with dots, keys as ["…"], list items as [name=app].',
  },
  InvalidStepGraph: {
    code: 'MUS1707',
    retry: 'terminal',
    meaning: 'A step graph has unreachable or unknown steps, or a cycle.',
    cure: 'Correct the children in the message.',
  },
  StepsNeverEnd: {
    code: 'MUS1708',
    retry: 'terminal',
    meaning: 'The steps of a controller did not terminate.',
    cure: 'Correct the graph or the step that leads back; the message contains the path.',
  },
  StepTimeout: {
    code: 'MUS1709',
    retry: 'transient',
    meaning: 'A step of a controller exceeded its time-out.',
    cure: 'Start long work and return; check for its result in a later reconcile.',
  },
  FrozenObject: {
    code: 'MUS1710',
    retry: 'terminal',
    meaning: 'Author code tried to change a read-only object.',
    cure: 'Return the desired changes instead of changing the object.',
  },
  NotOurs: {
    code: 'MUS1711',
    retry: 'terminal',
    meaning: 'An object with the name of a desired resource exists and is not owned by this controller.',
    cure: 'Choose another name, delete the object, or set the policy of the resource to adopt or ignore.',
  },
  NeedsCluster: {
    code: 'MUS1712',
    retry: 'terminal',
    meaning: 'Author code makes an external call in a run without a cluster.',
    cure: 'Make external calls only if live.available is true.',
  },
  InvalidJsonPath: {
    code: 'MUS1713',
    retry: 'terminal',
    meaning: 'A JSONPath is not valid, or visits more values than allowed.',
    cure: "Write it like $.spec.refs[*].name or $.spec.refs[?(@.kind == 'Secret')].name; the message contains the position.",
  },
  NoSample: {
    code: 'MUS1721',
    retry: 'terminal',
    meaning: 'The examination of an operator needs a sample of its custom resource, and there is none.',
    cure: 'Write one, and pass it with --sample FILE.',
  },
  InvalidLifecycle: {
    code: 'MUS1731',
    retry: 'terminal',
    meaning: 'A life-cycle graph has unreachable or unknown states, or a cycle.',
    cure: 'Correct the states in the message.',
  },
  InvalidWebhook: {
    code: 'MUS1741',
    retry: 'terminal',
    meaning: 'The definition of a webhook or conversion is inconsistent.',
    cure: 'Correct the definition in the message.',
  },
  ConversionMissing: {
    code: 'MUS1742',
    retry: 'terminal',
    meaning: 'An object is requested at a version for which its kind has no conversion.',
    cure: 'Declare a conversion for that version with defineConversion.',
  },
  WebhookUnknown: {
    code: 'MUS1743',
    retry: 'transient',
    meaning: 'No hosted operator has the requested webhook; it may not be registered yet, or be about to be removed.',
    cure: 'Host the operator in the message, or delete the webhook configuration that points here.',
  },
  InvalidReview: {
    code: 'MUS1744',
    retry: 'terminal',
    meaning: 'A request to a webhook is not a valid review.',
    cure: 'Let only API servers call webhooks; the message contains the reason.',
  },
  WebhookFailed: {
    code: 'MUS1745',
    retry: 'transient',
    meaning: 'The author code of a webhook threw, returned an invalid result or timed out; its failure policy decides.',
    cure: 'Read the log of the manager for the cause, and correct the webhook in the message.',
  },
  CertificatesForeign: {
    code: 'MUS1746',
    retry: 'terminal',
    meaning: 'The Secret for the webhook certificates exists and was not created by this manager.',
    cure: 'Configure another Secret, or delete the one in the message.',
  },

  SidecarConfigInvalid: {
    code: 'MUS1801',
    retry: 'terminal',
    meaning: 'The configuration, token file or address of a sidecar is not valid.',
    cure: 'Correct the setting in the message; src/sidecar/README.md has an example.',
  },
  SidecarStateUnusable: {
    code: 'MUS1802',
    retry: 'terminal',
    meaning: 'The state directory of a sidecar is not writable, or another sidecar uses it.',
    cure: 'Give every sidecar its own writable directory.',
  },
  SidecarUnreachable: {
    code: 'MUS1803',
    retry: 'transient',
    meaning: 'No complete response came from a sidecar.',
    cure: 'Check that the Pod runs, and that the sidecar listens on a reachable address (--listen).',
  },
  SidecarRefused: {
    code: 'MUS1804',
    retry: 'terminal',
    meaning: 'A sidecar rejected a request: the action name or the request is not valid.',
    cure: 'Correct the request; the action must be configured in the sidecar.',
  },
  SidecarBusy: {
    code: 'MUS1805',
    retry: 'throttled',
    meaning: 'A sidecar runs as many actions as its concurrency allows.',
    cure: 'Retry when the action in the message has ended, or raise concurrency.',
  },
  ActionConflict: {
    code: 'MUS1806',
    retry: 'terminal',
    meaning: 'The idempotency key of an action was already used with another name or input.',
    cure: 'Use another key for another action.',
  },
  SidecarFailed: {
    code: 'MUS1807',
    retry: 'transient',
    meaning: 'A sidecar could not carry out a request: it is stopping or overloaded, or its disk or token file failed.',
    cure: "Read the sidecar's log; free its disk, or fix its token file.",
  },
  SidecarUnauthorized: {
    code: 'MUS1808',
    retry: 'transient',
    meaning: 'A sidecar did not accept the token; a rotated token reaches it within minutes.',
    cure: "Use a token of the sidecar's token file; during rotation keep the old one in it on its own line.",
  },

  InvalidConfiguration: {
    code: 'MUS1901',
    retry: 'terminal',
    meaning: 'A configuration has an unknown key or a value that is not valid.',
    cure: 'Correct the keys in the message; the previous configuration stays in force.',
  },
  ContradictoryWrites: {
    code: 'MUS1921',
    retry: 'terminal',
    meaning: 'One plan contains two contradictory writes of the same object: neither is sent.',
    cure: 'Remove one of the two writes in the message.',
  },
  InvalidNameMap: {
    code: 'MUS1931',
    retry: 'terminal',
    meaning: 'The rules of a name map are not reversible, or two maps cover the same objects.',
    cure: 'Correct the rules in the message, so that each name in the cluster corresponds to exactly one name.',
  },
  NameOutsideMap: {
    code: 'MUS1932',
    retry: 'terminal',
    meaning: 'An operator with a name map uses an object name that no rule covers.',
    cure: 'Add a rule for the namespace or the name; a kind that is shared can only be read.',
  },
  InvalidPlacement: {
    code: 'MUS1933',
    retry: 'terminal',
    meaning: 'An operator cannot be placed on several clusters: it is ambiguous which objects belong where.',
    cure: 'Give each kind one role, and each cluster its identity before it is placed.',
  },
  TermOver: {
    code: 'MUS1941',
    retry: 'conflict',
    meaning:
      'A write was computed while this replica held the lease, and the lease was lost before it was sent (fencing).',
    cure: 'None: the new leader computes it again. If it is frequent, find out why leases are not renewed in time.',
  },
  IsolationRefused: {
    code: 'MUS1951',
    retry: 'terminal',
    meaning: 'The configured isolation of an operator cannot be enforced on this machine.',
    cure: 'Follow the message: provide what is missing (Node 26, Linux user namespaces, util-linux), or move the file that must not be readable; or choose another level.',
  },
  OperatorNotLoaded: {
    code: 'MUS1952',
    retry: 'transient',
    meaning: 'The module of an operator cannot be loaded, or has no such export.',
    cure: 'Correct the module; files outside of its own folder must be listed as readable.',
  },
  OperatorCrashed: {
    code: 'MUS1953',
    retry: 'transient',
    meaning: 'An isolated operator exited, had an uncaught error or ran out of memory; it is restarted.',
    cure: 'Correct the operator, or give it more memory; the message contains the cause.',
  },
  OperatorUnresponsive: {
    code: 'MUS1954',
    retry: 'transient',
    meaning: 'An isolated operator blocked its event loop; it was terminated and is restarted.',
    cure: 'Look for an endless loop, or for long synchronous work.',
  },
  ReconcileTimeout: {
    code: 'MUS1955',
    retry: 'transient',
    meaning: 'An isolated operator did not finish the reconcile of an object in time; its other objects continue.',
    cure: 'Find out what it waits for, or raise its time-out.',
  },
  GuestMisbehaved: {
    code: 'MUS1956',
    retry: 'transient',
    meaning: 'An isolated operator violated the protocol or a limit of its sandbox; it was terminated.',
    cure: 'Correct the operator, or raise the limit in the message; distrust the operator if there is no explanation.',
  },
  OutsideRefused: {
    code: 'MUS1957',
    retry: 'terminal',
    meaning: 'An isolated operator called an address that is not allowed.',
    cure: 'Allow the origin for this operator, if the call is intended.',
  },
  OperatorQuarantined: {
    code: 'MUS1958',
    retry: 'transient',
    meaning:
      'An operator blocked the main thread until the process was terminated, and cannot be isolated on this machine.',
    cure: 'Fix the loop, or make the operator able to run at isolation level worker; the message names the entry to remove.',
  },
  InvalidPlan: {
    code: 'MUS2101',
    retry: 'terminal',
    meaning: 'A fault plan is not valid, or names an unknown scene or fault.',
    cure: 'Copy the plan from the report, or write SCENE: FAULT@POINT; docs/simulator.md lists the faults.',
  },
  PartFailed: {
    code: 'MUS2102',
    retry: 'terminal',
    meaning: 'A worker process of a simulation ended without a report.',
    cure: 'Read its output above this line; --jobs 1 runs everything in one process.',
  },

  InvalidResourceList: {
    code: 'MUS2001',
    retry: 'terminal',
    meaning: 'The declared inputs or outputs of an operator (input-resources, output-resources) are not valid.',
    cure: 'Correct the entries in the message.',
  },
  OutputRefused: {
    code: 'MUS2002',
    retry: 'terminal',
    meaning: 'The output directory of an operator violates the contract; none of it was applied.',
    cure: 'Correct the operator; distrust the operator if there is no explanation.',
  },
  ExternalFailed: {
    code: 'MUS2003',
    retry: 'transient',
    meaning: 'An external operator crashed, hung, exceeded its memory limit or left no results; nothing was applied.',
    cure: 'Run its command by hand on the same input directory; the message contains the cause.',
  },
  NetworkNotCut: {
    code: 'MUS2004',
    retry: 'terminal',
    meaning: 'A run requires a sandbox or no network, and that cannot be enforced on this machine.',
    cure: 'Follow the message (user namespaces, util-linux, CAP_SYS_ADMIN for root), or set allowUnenforced: true for trusted code.',
  },
  InvalidTest: {
    code: 'MUS2005',
    retry: 'terminal',
    meaning: 'A declarative test is not valid.',
    cure: 'Correct the test.yaml in the message; docs/declarative-tests.md describes all keys.',
  },
  EgressRefused: {
    code: 'MUS2006',
    retry: 'terminal',
    meaning: 'An external operator called an address that is not on its allow list.',
    cure: 'Add the address to the allow list of this operator, if the call is intended.',
  },
  OutputUnwritable: {
    code: 'MUS2007',
    retry: 'terminal',
    meaning: 'The result of a run cannot be written to the requested path.',
    cure: 'Use a path in a writable folder; an output directory must be new or empty.',
  },
} as const

export type ErrorName = keyof typeof errorTable

export class MusterError extends Error {
  override readonly name: ErrorName
  readonly code: string
  readonly retry: RetryClass
  /** The minimum wait before a retry, from `Retry-After`. */
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

/** Code, name, message and cure: the line that a user sees. */
export function describeError(error: unknown): string {
  if (!(error instanceof MusterError)) return error instanceof Error ? error.message : String(error)
  return `${error.code} ${error.name}: ${error.message} ${errorTable[error.name].cure} See docs/errors.md#${error.code.toLowerCase()}`
}

export function isMusterError(error: unknown, ...names: readonly ErrorName[]): error is MusterError {
  return error instanceof MusterError && (names.length === 0 || names.includes(error.name))
}
