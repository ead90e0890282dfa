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
  /** What has happened, one sentence: for the documentation. */
  readonly meaning: string
  /** What a person can do, one sentence. */
  readonly cure: string
}

/** MUS10xx data, MUS11xx configuration of a connection, MUS12xx transport, MUS13xx the server's answers, MUS14xx cache, MUS15xx command line, MUS16xx the embedded API server, MUS17xx operators, MUS18xx the sidecar, MUS19xx the manager, MUS20xx the operator contract. */
export const errorTable = {
  InvalidQuantity: {
    code: 'MUS1001',
    retry: 'terminal',
    meaning: 'A text that should be an amount (CPU, memory, a count) is none.',
    cure: 'Write a number with an optional suffix: 100m, 1.5, 1Gi, 1e3.',
  },
  InvalidSelector: {
    code: 'MUS1002',
    retry: 'terminal',
    meaning: 'A label or field selector cannot be read.',
    cure: 'Write requirements joined by commas: app=web, tier in (a,b), !legacy.',
  },
  InvalidDuration: {
    code: 'MUS1003',
    retry: 'terminal',
    meaning: 'A text that should be a span of time is none.',
    cure: 'Write numbers with units: 90s, 1h30m, 250ms.',
  },
  InvalidName: {
    code: 'MUS1004',
    retry: 'terminal',
    meaning: 'A name breaks the rules that Kubernetes has for it.',
    cure: 'Use lower-case letters, digits and dashes as the message says.',
  },
  InvalidYaml: {
    code: 'MUS1005',
    retry: 'terminal',
    meaning: 'A YAML document cannot be read.',
    cure: 'Correct the YAML at the line that the message names.',
  },
  InvalidPatch: {
    code: 'MUS1006',
    retry: 'terminal',
    meaning: 'A patch is malformed, or does not fit the object it is for.',
    cure: 'Correct the patch: the message names the operation or path.',
  },
  PatchTestFailed: {
    code: 'MUS1007',
    retry: 'conflict',
    meaning: 'A `test` operation of a JSON patch did not hold.',
    cure: 'The object is not what the patch expected; read it again and build the patch anew.',
  },
  ApplyConflict: {
    code: 'MUS1008',
    retry: 'conflict',
    meaning: 'A server-side apply would change fields that another manager owns.',
    cure: 'Another manager owns the named fields: leave them out, or apply with force to take them over.',
  },
  InvalidFieldSet: {
    code: 'MUS1009',
    retry: 'terminal',
    meaning: 'An entry of managedFields cannot be decoded.',
    cure: 'Correct the managedFields entry that the message names, or clear managedFields.',
  },
  SchemaMismatch: {
    code: 'MUS1010',
    retry: 'terminal',
    meaning: 'A value has another type than its schema says.',
    cure: 'Give the field at the named path the type that its schema asks for.',
  },
  InvalidObject: {
    code: 'MUS1011',
    retry: 'terminal',
    meaning: 'What should be a Kubernetes object lacks a part that every object has.',
    cure: 'Give the object apiVersion, kind and metadata as the message says.',
  },
  InvalidOwner: {
    code: 'MUS1012',
    retry: 'terminal',
    meaning: 'An object cannot be owned by the one that was to be its owner.',
    cure: 'Own only objects in the same namespace (or from a cluster-scoped owner), and let one controller own each.',
  },
  InvalidExpression: {
    code: 'MUS1013',
    retry: 'terminal',
    meaning: 'A CEL expression cannot be compiled.',
    cure: 'Correct the expression at the place that the message shows.',
  },
  ExpressionFailed: {
    code: 'MUS1014',
    retry: 'terminal',
    meaning: 'A CEL expression has no result for the data that it was given.',
    cure: 'Guard what may be absent with has() or optionals, or correct the data.',
  },
  InvalidProtobuf: {
    code: 'MUS1015',
    retry: 'terminal',
    meaning: 'Bytes that should be an object in protobuf are none, or an object does not fit the message of its kind.',
    cure: 'Send what a Kubernetes client library writes, or send JSON.',
  },

  KubeconfigNotFound: {
    code: 'MUS1101',
    retry: 'terminal',
    meaning: 'No kubeconfig file is where one was looked for.',
    cure: 'Set KUBECONFIG to an existing file, or create ~/.kube/config.',
  },
  KubeconfigMalformed: {
    code: 'MUS1102',
    retry: 'terminal',
    meaning: 'A kubeconfig file was read, but does not hold what it must.',
    cure: 'Correct the kubeconfig at the path that the message names.',
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
    cure: 'Check that the file named in the kubeconfig exists and may be read.',
  },
  ExecPluginFailed: {
    code: 'MUS1105',
    retry: 'transient',
    meaning: 'The program that the kubeconfig names for credentials failed or gave no credentials.',
    cure: 'Run the credential plugin by hand; its output is in the message.',
  },
  OidcRefreshFailed: {
    code: 'MUS1106',
    retry: 'terminal',
    meaning: 'The identity provider gave no new token for the refresh token.',
    cure: 'Log in again to get a new refresh token.',
  },
  NotInCluster: {
    code: 'MUS1107',
    retry: 'terminal',
    meaning: 'The service account files and variables of a Pod are not there.',
    cure: 'Run inside a Pod with a service account, or give a kubeconfig.',
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
    meaning: 'No connection to the server could be made; it did not see the request.',
    cure: 'Check that the server runs and that address, port and proxy are right.',
  },
  HostNotFound: {
    code: 'MUS1202',
    retry: 'transient',
    meaning: 'The name of the server could not be turned into an address.',
    cure: 'Check the host name in the kubeconfig and the DNS of this machine.',
  },
  CertificateUntrusted: {
    code: 'MUS1203',
    retry: 'terminal',
    meaning: 'The certificate of the server is signed by nobody we trust.',
    cure: 'Give the CA that signed the server certificate (certificate-authority-data).',
  },
  CertificateExpired: {
    code: 'MUS1204',
    retry: 'terminal',
    meaning: 'A certificate is out of its period of validity.',
    cure: 'Renew the certificate that the message names, or set the clock of this machine.',
  },
  CertificateNameMismatch: {
    code: 'MUS1205',
    retry: 'terminal',
    meaning: 'The certificate of the server is for another name.',
    cure: 'Use a name that is in the certificate, or set tls-server-name.',
  },
  ConnectionLost: {
    code: 'MUS1206',
    retry: 'transient',
    meaning: 'The connection ended before the answer did; whether the server acted is unknown.',
    cure: 'Retry; if it goes on, look at load balancers and proxies in between.',
  },
  RequestTimeout: {
    code: 'MUS1207',
    retry: 'transient',
    meaning: 'The answer did not come within the time allowed; whether the server acted is unknown.',
    cure: 'Retry, or allow more time for this request.',
  },
  Aborted: {
    code: 'MUS1208',
    retry: 'terminal',
    meaning: 'The signal given with the request was aborted.',
    cure: 'Nothing: the caller gave the request up.',
  },
  ProxyFailed: {
    code: 'MUS1209',
    retry: 'transient',
    meaning: 'The proxy on the way to the server refused or could not be reached.',
    cure: 'Check proxy-url (or HTTPS_PROXY) and that the proxy allows this address.',
  },
  ProtocolError: {
    code: 'MUS1210',
    retry: 'transient',
    meaning: 'What arrived breaks the protocol.',
    cure: 'The peer does not speak the Kubernetes API; check the server address.',
  },
  TransportClosed: {
    code: 'MUS1211',
    retry: 'terminal',
    meaning: 'A request was made on a client after it was closed.',
    cure: 'Open a new client: this one was closed.',
  },
  StreamIdle: {
    code: 'MUS1212',
    retry: 'transient',
    meaning: 'A stream stayed silent for so long that its connection is taken for dead.',
    cure: 'Nothing: the stream was silent for too long and is opened again.',
  },
  ExecFailed: {
    code: 'MUS1213',
    retry: 'terminal',
    meaning: 'A command in a container could not be run to its end.',
    cure: 'Check that the container runs and has the command; its error is in the message.',
  },

  BadRequest: {
    code: 'MUS1301',
    retry: 'terminal',
    meaning: 'The server does not understand the request.',
    cure: 'Correct the request as the server says.',
  },
  Unauthorized: {
    code: 'MUS1302',
    retry: 'terminal',
    meaning: 'The server does not know who is asking.',
    cure: 'The server does not accept the credentials: renew the token or certificate.',
  },
  Forbidden: {
    code: 'MUS1303',
    retry: 'terminal',
    meaning: 'The server knows who is asking and does not allow it.',
    cure: 'Grant the verb on the resource that the message names to this user.',
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
    meaning: 'An object of this name exists already.',
    cure: 'Choose another name, or update the object that exists.',
  },
  Conflict: {
    code: 'MUS1306',
    retry: 'conflict',
    meaning: 'The object has changed since it was read, or is not the one that was meant.',
    cure: 'Read the object again and repeat the change on the new version.',
  },
  Gone: {
    code: 'MUS1307',
    retry: 'conflict',
    meaning: 'The server no longer keeps the history that a watch or a continued list asked for.',
    cure: 'The resource version is too old: list again.',
  },
  Invalid: {
    code: 'MUS1308',
    retry: 'terminal',
    meaning: 'The object was understood, and its values are not allowed.',
    cure: 'Correct the fields that the message names.',
  },
  TooManyRequests: {
    code: 'MUS1309',
    retry: 'throttled',
    meaning: 'The server, or a disruption budget, holds the request back.',
    cure: 'Wait as long as the server says, then retry.',
  },
  ServerError: {
    code: 'MUS1310',
    retry: 'transient',
    meaning: 'The server failed inside.',
    cure: 'Retry; if it goes on, read the log of the API server.',
  },
  ServerTimeout: {
    code: 'MUS1311',
    retry: 'transient',
    meaning: 'The server gave up on the request in time; whether it acted is unknown.',
    cure: 'Retry after the time that the server says.',
  },
  ServiceUnavailable: {
    code: 'MUS1312',
    retry: 'transient',
    meaning: 'The server is starting, stopping or overloaded, or cannot reach the API behind it.',
    cure: 'Wait until the server (or the aggregated API behind it) is up again.',
  },
  MethodNotAllowed: {
    code: 'MUS1313',
    retry: 'terminal',
    meaning: 'The server has the resource, but not this verb on it.',
    cure: 'The resource does not offer this verb.',
  },
  NotAcceptable: {
    code: 'MUS1314',
    retry: 'terminal',
    meaning: 'The server has no representation that was asked for.',
    cure: 'The server cannot answer in the wanted representation.',
  },
  UnsupportedMediaType: {
    code: 'MUS1315',
    retry: 'terminal',
    meaning: 'The server does not read the content type that was sent.',
    cure: 'The server does not read this patch or body type for this resource.',
  },
  RequestTooLarge: {
    code: 'MUS1316',
    retry: 'terminal',
    meaning: 'The request is larger than the server takes.',
    cure: 'Make the object smaller; servers take about 3 MiB.',
  },
  UnexpectedAnswer: {
    code: 'MUS1317',
    retry: 'transient',
    meaning: 'The answer is none that an API server gives.',
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
    cure: 'Subscribe again: this subscription or its cache was closed.',
  },
  IndexNotFound: {
    code: 'MUS1402',
    retry: 'terminal',
    meaning: 'A read named an index that was never declared.',
    cure: 'Declare the index when subscribing.',
  },
  SyncTimeout: {
    code: 'MUS1403',
    retry: 'transient',
    meaning: 'An informer did not become complete in the time allowed.',
    cure: 'Look at the state of the informer: it names why it has not synced.',
  },
  OutOfScope: {
    code: 'MUS1404',
    retry: 'terminal',
    meaning: 'A read asked the cache for more than its subscription covers.',
    cure: 'Subscribe to the namespace, selector or fields that are to be read.',
  },
  NotSynced: {
    code: 'MUS1405',
    retry: 'transient',
    meaning: 'A read came before the first list was complete.',
    cure: 'Wait for synced() before reading.',
  },

  UnknownCommand: {
    code: 'MUS1501',
    retry: 'terminal',
    meaning: 'The command line names no command of muster.',
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
    meaning: 'The value of a flag is not what it takes.',
    cure: 'Give the flag a value as its help says.',
  },
  BinaryMissing: {
    code: 'MUS1504',
    retry: 'terminal',
    meaning: 'A program that is needed is not on this machine.',
    cure: 'Install the program that the message names.',
  },
  ModuleUnusable: {
    code: 'MUS1505',
    retry: 'terminal',
    meaning: 'A file that should export an operator or a kind cannot be loaded, or exports none.',
    cure: 'Correct the file or the path that the message names.',
  },
  AlreadyThere: {
    code: 'MUS1506',
    retry: 'terminal',
    meaning: 'A file or folder that would be written exists already; nothing of it was touched.',
    cure: 'Choose another name, or move what is there.',
  },
  ManagerNotFound: {
    code: 'MUS1507',
    retry: 'terminal',
    meaning: 'No manager that could be asked was found, or what answered is none.',
    cure: 'Start one with muster up or muster run, in this folder, or say with --url where its status server is.',
  },
  PortTaken: {
    code: 'MUS1508',
    retry: 'terminal',
    meaning: 'Another program listens on the port that was asked for.',
    cure: 'Choose another port, or end the other program.',
  },

  StorageDamaged: {
    code: 'MUS1601',
    retry: 'terminal',
    meaning: 'The data folder of an embedded cluster is not as it was written; nothing of it is served.',
    cure: 'Restore the folder from a copy, or start with another --data folder.',
  },
  StorageFailed: {
    code: 'MUS1602',
    retry: 'transient',
    meaning: 'A change could not be written to the data folder; it has been undone.',
    cure: 'Make room on the disk, or see what the message says; then try again.',
  },
  StorageInUse: {
    code: 'MUS1603',
    retry: 'terminal',
    meaning: 'Another process keeps its cluster in this data folder, or its credentials in this kubeconfig.',
    cure: 'Stop the process that the message names; or use another --data folder and another --kubeconfig-out, or start in another folder.',
  },
  GatherUnreadable: {
    code: 'MUS1604',
    retry: 'terminal',
    meaning: 'A must-gather directory, or a file in it, cannot be read.',
    cure: 'Check the path that the message names; without strictness a broken file is left out.',
  },
  LockUnavailable: {
    code: 'MUS1605',
    retry: 'terminal',
    meaning: 'A folder cannot be locked, so nothing keeps another process from writing to it, too.',
    cure: 'Use a folder on a local file system that the process may write to, and a Node with SQLite.',
  },
  SigningKeyInvalid: {
    code: 'MUS1606',
    retry: 'terminal',
    meaning: 'The key that signs the tokens of service accounts cannot be used.',
    cure: 'Restore service-accounts.pem from a copy, or remove it: then a new key is made, and tokens from before are invalid.',
  },

  UnknownKind: {
    code: 'MUS1701',
    retry: 'terminal',
    meaning: 'A kind is named that is not built in, and nothing says how it is served.',
    cure: 'Correct its name; or give its plural and scope, or define it with defineKind.',
  },
  UndeclaredInput: {
    code: 'MUS1702',
    retry: 'terminal',
    meaning: 'A controller reads what it did not declare: a kind, a namespace or a name.',
    cure: "Add it to the controller's reads: the kind, or exactly(…), labelled(…), generated(…), referenced(…).",
  },
  UndeclaredOutput: {
    code: 'MUS1703',
    retry: 'terminal',
    meaning:
      'A plan writes what its operator did not declare: a kind, or an object of a name that is not among its outputs.',
    cure: 'Make it a resource of the controller, or add the kind or the name to its writes.',
  },
  InvalidResource: {
    code: 'MUS1704',
    retry: 'terminal',
    meaning: 'The definition of a resource contradicts itself or what it makes.',
    cure: 'Correct the resource that the message names.',
  },
  InvalidController: {
    code: 'MUS1705',
    retry: 'terminal',
    meaning: 'The definition of a controller or operator contradicts itself.',
    cure: 'Correct the definition that the message names.',
  },
  InvalidFieldPath: {
    code: 'MUS1706',
    retry: 'terminal',
    meaning: 'A path to a field cannot be read.',
    cure: 'Write members with dots, keys in ["…"], items of lists as [name=app].',
  },
  InvalidStepGraph: {
    code: 'MUS1707',
    retry: 'terminal',
    meaning: 'A graph of steps leads nowhere, in circles, or to steps that it does not have.',
    cure: 'Correct the children that the message names.',
  },
  StepsNeverEnd: {
    code: 'MUS1708',
    retry: 'terminal',
    meaning: 'A walk through the steps of a controller did not come to an end.',
    cure: 'Correct the graph or the step that leads back; the message shows the path.',
  },
  StepTimeout: {
    code: 'MUS1709',
    retry: 'transient',
    meaning: 'A step of a controller took longer than it may.',
    cure: 'Start long work and return; look for its result in a later reconcile.',
  },
  FrozenObject: {
    code: 'MUS1710',
    retry: 'terminal',
    meaning: 'Author code tried to change an object that it was only shown.',
    cure: 'Return what shall be different instead of changing what was given.',
  },
  NotOurs: {
    code: 'MUS1711',
    retry: 'terminal',
    meaning: 'An object of the name that a resource wants exists and belongs to somebody else.',
    cure: 'Choose another name, delete the object, or set the policy of the resource to adopt or ignore.',
  },
  NeedsCluster: {
    code: 'MUS1712',
    retry: 'terminal',
    meaning: 'Author code reaches outside in a run that has no cluster.',
    cure: 'Reach outside only where the operator runs live: live.available tells.',
  },
  InvalidJsonPath: {
    code: 'MUS1713',
    retry: 'terminal',
    meaning: 'A JSONPath cannot be read, or leads to more values than are looked at.',
    cure: "Write it like $.spec.refs[*].name or $.spec.refs[?(@.kind == 'Secret')].name; the message names the place.",
  },
  NoSample: {
    code: 'MUS1721',
    retry: 'terminal',
    meaning: 'An operator is to be examined, and there is no CR to examine it with.',
    cure: 'Write one, and give it with --sample FILE.',
  },
  InvalidLifecycle: {
    code: 'MUS1731',
    retry: 'terminal',
    meaning: 'A life-cycle graph has states that lead nowhere, in circles or to states that it does not have.',
    cure: 'Correct the places that the message names.',
  },
  InvalidWebhook: {
    code: 'MUS1741',
    retry: 'terminal',
    meaning: 'The definition of a webhook or conversion contradicts itself.',
    cure: 'Correct the definition that the message names.',
  },
  ConversionMissing: {
    code: 'MUS1742',
    retry: 'terminal',
    meaning: 'An object is wanted at a version that no conversion of its kind knows.',
    cure: 'Declare a conversion for that version with defineConversion.',
  },
  WebhookUnknown: {
    code: 'MUS1743',
    retry: 'transient',
    meaning: 'A webhook was asked for that no hosted operator has; it may be about to be removed, or not there yet.',
    cure: 'Host the operator that the message names, or delete the configuration that points here.',
  },
  InvalidReview: {
    code: 'MUS1744',
    retry: 'terminal',
    meaning: 'What a webhook was sent is no review that it could answer.',
    cure: 'Let only API servers call webhooks; the message says what was wrong.',
  },
  WebhookFailed: {
    code: 'MUS1745',
    retry: 'transient',
    meaning: 'The author code of a webhook threw, gave nonsense or took too long; its failure policy decides.',
    cure: 'See the log of the manager for the cause, and correct the webhook that the message names.',
  },
  CertificatesForeign: {
    code: 'MUS1746',
    retry: 'terminal',
    meaning: 'The Secret for the certificates of the webhooks exists and was made by somebody else.',
    cure: 'Name another Secret, or delete the one that the message names.',
  },

  SidecarConfigInvalid: {
    code: 'MUS1801',
    retry: 'terminal',
    meaning: 'A sidecar cannot start with its configuration, token file or address.',
    cure: 'Correct what the message names; src/sidecar/README.md has an example.',
  },
  SidecarStateUnusable: {
    code: 'MUS1802',
    retry: 'terminal',
    meaning: 'A sidecar cannot use its state directory, or another one uses it already.',
    cure: 'Give every sidecar a directory of its own that it may write to.',
  },
  SidecarUnreachable: {
    code: 'MUS1803',
    retry: 'transient',
    meaning: 'No whole answer came from a sidecar.',
    cure: 'Check that the Pod runs, and that the sidecar listens on an address that can be reached (--listen).',
  },
  SidecarRefused: {
    code: 'MUS1804',
    retry: 'terminal',
    meaning: 'A sidecar refused a request: the name of the action or the request itself is wrong.',
    cure: 'Correct what the message names; the action must be one that the sidecar is configured with.',
  },
  SidecarBusy: {
    code: 'MUS1805',
    retry: 'throttled',
    meaning: 'A sidecar carries out as many actions as it may.',
    cure: 'Ask again when the action that the message names has ended, or raise concurrency.',
  },
  ActionConflict: {
    code: 'MUS1806',
    retry: 'terminal',
    meaning: 'A sidecar knows the key of an action, with another name or another input.',
    cure: 'Ask for another action under another key.',
  },
  SidecarFailed: {
    code: 'MUS1807',
    retry: 'transient',
    meaning:
      'A sidecar could not do what it was asked for: it is stopping or overloaded, or its disk or token file fails it.',
    cure: "Read the sidecar's log; free its disk, or mend its token file.",
  },
  SidecarUnauthorized: {
    code: 'MUS1808',
    retry: 'transient',
    meaning: 'A sidecar does not know the token it was shown; a token that was just rotated reaches it within minutes.',
    cure: "Show a token of the sidecar's token file; while rotating, keep the old one in it on a line of its own.",
  },

  InvalidConfiguration: {
    code: 'MUS1901',
    retry: 'terminal',
    meaning: 'A configuration has a key that does not exist, or a value that makes no sense.',
    cure: 'Correct the places that the message names; what was in force before stays in force.',
  },
  ContradictoryWrites: {
    code: 'MUS1921',
    retry: 'terminal',
    meaning: 'One plan writes the same object twice, and the two writes contradict each other: neither is sent.',
    cure: 'Let one of the two that the message names decide.',
  },
  InvalidNameMap: {
    code: 'MUS1931',
    retry: 'terminal',
    meaning: 'The rules of a name map cannot be followed both ways, or two maps reach for the same objects.',
    cure: 'Correct the rules that the message names, so that each name in the cluster stands for one name alone.',
  },
  NameOutsideMap: {
    code: 'MUS1932',
    retry: 'terminal',
    meaning: 'An operator that works through a name map names an object that no rule of it covers.',
    cure: 'Add a rule for the namespace or the name; a kind that all share can only be read.',
  },
  InvalidPlacement: {
    code: 'MUS1933',
    retry: 'terminal',
    meaning: 'An operator cannot be spread over clusters as it is: nobody could tell what belongs where.',
    cure: 'Give each kind one role, and each cluster its identity before it is placed.',
  },
  TermOver: {
    code: 'MUS1941',
    retry: 'conflict',
    meaning: 'A write was worked out while this replica had the right to write, and would have left when it had not.',
    cure: 'Nothing: whoever has the right now works it out anew. If it comes often, look why leases are not renewed in time.',
  },
  IsolationRefused: {
    code: 'MUS1951',
    retry: 'terminal',
    meaning: 'An operator is to be isolated, and what isolation promises cannot be enforced on this machine.',
    cure: 'Do what the message says: provide what is missing (Node 26, Linux user namespaces, util-linux), or move the file that must not be readable; or choose another level.',
  },
  OperatorNotLoaded: {
    code: 'MUS1952',
    retry: 'transient',
    meaning: 'The module of an operator cannot be loaded, or exports no such operator.',
    cure: 'Correct the module; files outside of its own folder must be listed as readable.',
  },
  OperatorCrashed: {
    code: 'MUS1953',
    retry: 'transient',
    meaning:
      'An isolated operator ended by itself, by an error that nobody caught, or out of memory; it is started again.',
    cure: 'Correct the operator, or give it more memory; the message says how it ended.',
  },
  OperatorUnresponsive: {
    code: 'MUS1954',
    retry: 'transient',
    meaning: 'An isolated operator blocks its event loop; it was ended and is started again.',
    cure: 'Look for a loop that does not end, or for work that takes too long without a pause.',
  },
  ReconcileTimeout: {
    code: 'MUS1955',
    retry: 'transient',
    meaning: 'An isolated operator did not come to an end with an object in time; its other objects go on.',
    cure: 'Look for what it waits for, or allow it more time.',
  },
  GuestMisbehaved: {
    code: 'MUS1956',
    retry: 'transient',
    meaning: 'An isolated operator said something that makes no sense, or too much, or too often; it was ended.',
    cure: 'Correct the operator, or raise the limit that the message names; distrust what nobody can explain.',
  },
  OutsideRefused: {
    code: 'MUS1957',
    retry: 'terminal',
    meaning: 'An isolated operator calls an address that it is not allowed to reach.',
    cure: 'Allow the origin for this operator, if the call is meant.',
  },
  OperatorQuarantined: {
    code: 'MUS1958',
    retry: 'transient',
    meaning: 'An operator once held the thread of all until its process was ended, and it cannot be run apart here.',
    cure: 'Mend the loop, or make it fit to run at the level worker; the message names the entry that can be taken away.',
  },
  InvalidPlan: {
    code: 'MUS2101',
    retry: 'terminal',
    meaning: 'A fault plan cannot be read, or names a scene or a fault that does not exist.',
    cure: 'Copy the plan from the report, or write SCENE: FAULT@POINT; docs/simulator.md has the faults.',
  },
  PartFailed: {
    code: 'MUS2102',
    retry: 'terminal',
    meaning: 'A process that plays a part of a simulation ended before it had a report.',
    cure: 'Read what it printed before this line; --jobs 1 plays everything in one process.',
  },

  InvalidResourceList: {
    code: 'MUS2001',
    retry: 'terminal',
    meaning: 'What an operator says it reads or writes (input-resources, output-resources) cannot be understood.',
    cure: 'Correct the entries that the message names.',
  },
  OutputRefused: {
    code: 'MUS2002',
    retry: 'terminal',
    meaning: 'The output directory of an operator holds what the contract does not allow; nothing of it was applied.',
    cure: 'Correct the operator; distrust one that nobody can explain.',
  },
  ExternalFailed: {
    code: 'MUS2003',
    retry: 'transient',
    meaning: 'An external operator crashed, hung, used too much memory or left no results; nothing was applied.',
    cure: 'Run its command by hand on the same input directory; the message says how it ended.',
  },
  NetworkNotCut: {
    code: 'MUS2004',
    retry: 'terminal',
    meaning: 'A run must be without a network, or in a sandbox, and that cannot be enforced on this machine.',
    cure: 'Do what the message says (user namespaces, util-linux, CAP_SYS_ADMIN for root), or set allowUnenforced: true for code that is trusted.',
  },
  InvalidTest: {
    code: 'MUS2005',
    retry: 'terminal',
    meaning: 'A declarative test cannot be run as it is written.',
    cure: 'Correct the test.yaml that the message names; docs/declarative-tests.md tells all its keys.',
  },
  EgressRefused: {
    code: 'MUS2006',
    retry: 'terminal',
    meaning: 'An external operator tried to reach an address that is not on its list.',
    cure: 'Add the address to the list of this operator, if the call is meant.',
  },
  OutputUnwritable: {
    code: 'MUS2007',
    retry: 'terminal',
    meaning: 'What came out of a run cannot be written where it was asked for.',
    cure: 'Give a path in a folder that this user may write to; an output directory is a new or an empty one.',
  },
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
