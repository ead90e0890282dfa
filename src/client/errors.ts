/** Errors of a client: MUS11xx configuration of a connection, MUS12xx transport, MUS13xx responses of the server. */
import { defineErrors, type ErrorTable } from '../kube/muster-error.ts'

const table = {
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
} as const

export const clientErrors: ErrorTable<typeof table> = defineErrors(table)
