/**
 * From a kubeconfig user to {@link Credentials}.
 *
 * A user has at most one credential in the headers (token, token file, basic auth, auth-provider or exec plugin) and at most
 * one client certificate; it may have both. Renewed credentials are held by the object created here: two clusters whose users
 * have the same name never share tokens.
 */
import { isAbsolute, join, sep } from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import { bearer } from './bearer.ts'
import { type CertificateCredentials, certificateCredentials, checkPair, type PemSource } from './client-certificate.ts'
import type { Credentials } from '../connection.ts'
import { base64 } from './document.ts'
import {
  type KubeconfigEntry,
  type KubeconfigAuthProvider,
  type KubeconfigUser,
  malformedKubeconfig,
  type KubeconfigPlace,
} from './kubeconfig.ts'
import { explainFileError, type Machine } from './machine.ts'
import type { OidcTokens } from './oidc.ts'
import { tokenFileCredentials } from './token-file.ts'

export interface CredentialOptions {
  readonly machine: Machine
  readonly clock: Clock
  /** Called with tokens renewed by an OIDC issuer; without it they are kept only in memory. */
  readonly onOidcRenewed?: ((tokens: OidcTokens) => void | Promise<void>) | undefined
}

/** Time-out of a credential plugin. */
const execTimeoutMs = 60_000

/** No credentials: an anonymous user. */
export const anonymousCredentials: Credentials = fixedCredentials({})

export function tokenCredentials(token: string): Credentials {
  return fixedCredentials(bearer(token.trim()))
}

export function basicCredentials(username: string, password: string): Credentials {
  const pair = Buffer.from(`${username}:${password}`, 'utf8').toString('base64')
  return fixedCredentials({ authorization: `Basic ${pair}` })
}

/** The credentials of a validated user. `clusterInfo` is passed to exec plugins that request it. */
export async function userCredentials(
  user: KubeconfigEntry<KubeconfigUser>,
  clusterInfo: Json,
  options: CredentialOptions,
): Promise<Credentials> {
  const speaking = await headerCredentials(user, clusterInfo, options)
  const certificate = await certificateOf(user, options)
  if (!certificate) return speaking
  return {
    headers: (signal) => speaking.headers(signal),
    certificate: (signal) => certificate.certificate(signal),
    refused(sent) {
      const [byHeaders, byCertificate] = [speaking.refused(sent), certificate.refused(sent)]
      return byHeaders || byCertificate
    },
  }
}

/** Paths in a kubeconfig are relative to its file. */
function resolvePath(path: string, place: KubeconfigPlace, key: string): string {
  if (isAbsolute(path)) return path
  if (place.directory !== undefined) return join(place.directory, path)
  throw malformedKubeconfig(place.source, [`${place.path}.${key} must be an absolute path, because this is no file`])
}

/** A file that must exist from the start, such as a certificate authority. */
export async function readPemFile(
  path: string,
  place: KubeconfigPlace,
  key: string,
  machine: Machine,
): Promise<string> {
  const file = resolvePath(path, place, key)
  const origin = `${place.path}.${key} in ${place.source}`
  let pem: string
  try {
    pem = await machine.readFile(file)
  } catch (error) {
    const message = `${file} (${origin}) ${explainFileError(error)}.`
    throw new MusterError(clientErrors.CredentialFileUnreadable, message, { cause: error })
  }
  if (pem.includes('-----BEGIN ')) return pem
  throw new MusterError(clientErrors.CredentialFileUnreadable, `${file} (${origin}) holds no PEM certificate.`)
}

function fixedCredentials(headers: Readonly<Record<string, string>>): Credentials {
  return {
    headers: () => Promise.resolve(headers),
    certificate: () => Promise.resolve(undefined),
    refused: () => false,
  }
}

async function headerCredentials(
  { value, place }: KubeconfigEntry<KubeconfigUser>,
  clusterInfo: Json,
  options: CredentialOptions,
): Promise<Credentials> {
  const { token, tokenFile, username, password, authProvider, exec } = value
  if (tokenFile) {
    return tokenFileCredentials(resolvePath(tokenFile, place, 'tokenFile'), { ...options, fallback: token?.trim() })
  }
  if (token) return tokenCredentials(token)
  if (username || password) return basicCredentials(username ?? '', password ?? '')
  if (authProvider)
    return await authProviderCredentials({ value: authProvider, place: within(place, 'auth-provider') }, options)
  // The user's own certificate takes precedence over one from a plugin.
  if (!exec || value.clientCertificate || value.clientCertificateData) return anonymousCredentials

  const { execCredentials } = await import('./exec-plugin.ts')
  const command = exec.command ?? ''
  const resolved = command.includes(sep) ? resolvePath(command, place, 'exec.command') : command
  return execCredentials(
    { value: { ...exec, command: resolved }, place: within(place, 'exec') },
    { ...options, clusterInfo, timeoutMs: execTimeoutMs },
  )
}

async function certificateOf(
  { value, place }: KubeconfigEntry<KubeconfigUser>,
  options: CredentialOptions,
): Promise<CertificateCredentials | undefined> {
  const cert = pemSource(value.clientCertificateData, value.clientCertificate, place, 'client-certificate')
  const key = pemSource(value.clientKeyData, value.clientKey, place, 'client-key')
  if (!cert || !key) return undefined
  // Inline values never change: report their errors now, not with the first request.
  if ('pem' in cert && 'pem' in key) await checkPair(cert.pem, key.pem, cert.origin, key.origin)
  return certificateCredentials({ cert, key }, options)
}

function pemSource(
  data: string | undefined,
  file: string | undefined,
  place: KubeconfigPlace,
  key: string,
): PemSource | undefined {
  if (data) return { pem: data, origin: `${place.path}.${key}-data in ${place.source}` }
  return file ? { file: resolvePath(file, place, key), origin: `${place.path}.${key} in ${place.source}` } : undefined
}

/** Programs that replaced auth-providers which were once built into clients. */
const successors: Readonly<Record<string, string>> = {
  gcp: 'gke-gcloud-auth-plugin',
  azure: 'kubelogin (Azure/kubelogin)',
  openstack: 'client-keystone-auth',
}

async function authProviderCredentials(
  { value, place }: KubeconfigEntry<KubeconfigAuthProvider>,
  options: CredentialOptions,
): Promise<Credentials> {
  const { name = '', config = {} } = value
  if (name !== 'oidc') {
    const successor = Object.hasOwn(successors, name) ? successors[name] : undefined
    throw malformedKubeconfig(place.source, [
      successor
        ? `${place.path}: the auth-provider "${name}" was removed from Kubernetes; use the exec plugin ${successor}`
        : `${place.path}.name must be oidc; for other providers use an exec plugin`,
    ])
  }
  const at = within(place, 'config')
  const issuerUrl = config['idp-issuer-url'] ?? ''
  const problems: string[] = []
  if (!/^https?:/.test(issuerUrl) || !URL.canParse(issuerUrl)) problems.push(`${at.path}.idp-issuer-url is not a URL`)
  if (!config['client-id']) problems.push(`${at.path}.client-id is missing`)
  const caData = config['idp-certificate-authority-data']
  const inline = caData ? base64(caData, `${at.path}.idp-certificate-authority-data`, problems) : undefined
  if (problems.length > 0) throw malformedKubeconfig(place.source, problems)

  const caFile = config['idp-certificate-authority']
  const key = 'idp-certificate-authority'
  const ca = inline ?? (caFile ? await readPemFile(caFile, at, key, options.machine) : undefined)
  const { oidcCredentials } = await import('./oidc.ts')
  const provider = {
    issuerUrl,
    clientId: config['client-id'] ?? '',
    clientSecret: config['client-secret'],
    idToken: config['id-token'],
    refreshToken: config['refresh-token'] || undefined,
    ca,
    origin: `${place.path} in ${place.source}`,
  }
  return oidcCredentials(provider, { ...options, onRenewed: options.onOidcRenewed })
}

function within(place: KubeconfigPlace, key: string): KubeconfigPlace {
  return { ...place, path: `${place.path}.${key}` }
}
