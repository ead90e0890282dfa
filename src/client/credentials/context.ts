/**
 * The context that is used of a kubeconfig: one cluster and one user, validated as kubectl does.
 */
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { checkDnsLabel } from '../../kube/meta/name.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import { isHeaderSafe } from './bearer.ts'
import {
  type KubeconfigEntry,
  isEmptyKubeconfig,
  type Kubeconfig,
  type KubeconfigCluster,
  type KubeconfigExec,
  type KubeconfigUser,
  malformedKubeconfig,
} from './kubeconfig.ts'

/** A context with its cluster and user, validated. */
export interface ChosenContext {
  readonly name: string
  readonly namespace: string | undefined
  readonly cluster: KubeconfigEntry<KubeconfigCluster & { readonly server: string }>
  readonly user: KubeconfigEntry<KubeconfigUser>
}

/** The context `name`, or the current one, with its cluster and user. */
export function chooseContext(kubeconfig: Kubeconfig, name?: string): ChosenContext {
  const where = kubeconfig.sources.join(', ')
  if (isEmptyKubeconfig(kubeconfig)) {
    throw malformedKubeconfig(where, ['it is empty: write clusters, users and contexts into it, or name another file'])
  }
  const wanted = name || kubeconfig.currentContext
  const existing = kubeconfig.contexts.size > 0 ? `contexts: ${names(kubeconfig.contexts)}` : 'it has no contexts'
  if (!wanted) throw new MusterError(clientErrors.ContextNotFound, `${where}: no current-context is set; ${existing}.`)
  const chosen = kubeconfig.contexts.get(wanted)
  if (!chosen) {
    const set = name ? '' : ', the current-context,'
    throw new MusterError(
      clientErrors.ContextNotFound,
      `${where}: context "${wanted}"${set} does not exist; ${existing}.`,
    )
  }
  const { cluster: clusterName, user: userName, namespace } = chosen.value
  const found = clusterName ? kubeconfig.clusters.get(clusterName) : undefined
  const identity = userName ? kubeconfig.users.get(userName) : undefined
  const { source, path } = chosen.place
  const problems: string[] = []
  if (!clusterName) problems.push(`${path}.cluster is missing`)
  else if (!found) problems.push(missingEntry(`${path}.cluster`, 'cluster', clusterName, kubeconfig.clusters))
  if (!userName) problems.push(`${path}.user is missing`)
  else if (!identity) problems.push(missingEntry(`${path}.user`, 'user', userName, kubeconfig.users))
  if (namespace) problems.push(...checkDnsLabel(namespace).map((problem) => `${path}.namespace ${problem}`))
  if (problems.length > 0) throw malformedKubeconfig(source, problems)
  return {
    name: wanted,
    namespace: namespace || undefined,
    cluster: checkCluster(found!),
    user: checkUser(identity!),
  }
}

function missingEntry(path: string, what: string, name: string, existing: ReadonlyMap<string, unknown>): string {
  return `${path} names the ${what} "${name}", which does not exist (${what}s: ${names(existing) || 'none'})`
}

function names(entries: ReadonlyMap<string, unknown>): string {
  return [...entries.keys()].toSorted().join(', ')
}

function checkCluster({
  value,
  place,
}: KubeconfigEntry<KubeconfigCluster>): KubeconfigEntry<KubeconfigCluster & { server: string }> {
  const problems: string[] = []
  const { server, proxyUrl, certificateAuthority, certificateAuthorityData, insecureSkipTlsVerify } = value
  if (!server) problems.push(`${place.path}.server is missing`)
  else problems.push(...urlProblems(`${place.path}.server`, server, ['http:', 'https:'], 'https://host:6443'))
  if (server && URL.canParse(server) && new URL(server).username) {
    problems.push(`${place.path}.server must not hold a user name: that belongs into users`)
  }
  if (proxyUrl) {
    const schemes = ['http:', 'https:', 'socks5:']
    problems.push(...urlProblems(`${place.path}.proxy-url`, proxyUrl, schemes, 'http://proxy:3128'))
  }
  if (certificateAuthority && certificateAuthorityData) {
    problems.push(`${place.path} has both certificate-authority and certificate-authority-data: keep one`)
  }
  if (insecureSkipTlsVerify && (certificateAuthority || certificateAuthorityData)) {
    problems.push(
      `${place.path} has insecure-skip-tls-verify and a certificate authority: with one set, the other is pointless`,
    )
  }
  if (certificateAuthorityData && !certificateAuthorityData.includes('-----BEGIN ')) {
    problems.push(`${place.path}.certificate-authority-data is base64, but holds no PEM certificate`)
  }
  if (problems.length > 0) throw malformedKubeconfig(place.source, problems)
  return { value: { ...value, server: trimEnd(server!.split(/[?#]/, 1)[0]!, '/') }, place }
}

/** Values are not quoted: a URL may hold a password. */
function urlProblems(path: string, value: string, schemes: readonly string[], example: string): readonly string[] {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url && schemes.includes(url.protocol) && url.hostname) return []
  return [`${path} is not a URL with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}: write ${example}`]
}

function checkUser(entry: KubeconfigEntry<KubeconfigUser>): KubeconfigEntry<KubeconfigUser> {
  const { value, place } = entry
  const { path } = place
  const problems: string[] = []
  const hasCertificate = Boolean(value.clientCertificate || value.clientCertificateData)
  const hasKey = Boolean(value.clientKey || value.clientKeyData)
  for (const [file, data] of [
    ['clientCertificate', 'clientCertificateData'],
    ['clientKey', 'clientKeyData'],
  ] as const) {
    const key = file === 'clientKey' ? 'client-key' : 'client-certificate'
    if (value[file] && value[data]) problems.push(`${path} has both ${key} and ${key}-data: keep one`)
    if (value[data] && !value[data].includes('-----BEGIN ')) {
      problems.push(`${path}.${key}-data is base64, but holds no PEM`)
    }
  }
  if (hasCertificate && !hasKey) problems.push(`${path} has a client certificate, but no client-key or client-key-data`)
  if (hasKey && !hasCertificate && !hasOtherMeans(value)) {
    problems.push(`${path} has a client key, but no client-certificate`)
  }
  if ((value.token || value.tokenFile) && (value.username || value.password)) {
    problems.push(`${path} has both a token and a user name with password: keep one`)
  }
  if (value.token && !isHeaderSafe(value.token.trim())) {
    problems.push(`${path}.token holds characters that no token has: it must be one line without spaces`)
  }
  if (!value.as && (value.asUid || value.asGroups?.length || Object.keys(value.asUserExtra ?? {}).length > 0)) {
    problems.push(`${path} impersonates a uid, groups or extra, but no user: set as`)
  }
  const impersonated = [
    value.as,
    value.asUid,
    ...(value.asGroups ?? []),
    ...Object.values(value.asUserExtra ?? {}).flat(),
  ]
  if (impersonated.some((part) => part && /\p{Cc}/u.test(part))) {
    problems.push(`${path} impersonates a name with line breaks or control characters`)
  }
  if (value.exec && value.authProvider) problems.push(`${path} has both exec and auth-provider: keep one`)
  if (value.exec) problems.push(...execProblems(value.exec, `${path}.exec`))
  if (problems.length > 0) throw malformedKubeconfig(place.source, problems)
  return entry
}

function hasOtherMeans({ token, tokenFile, username, exec, authProvider }: KubeconfigUser): boolean {
  return Boolean(token || tokenFile || username || exec || authProvider)
}

function execProblems(plugin: KubeconfigExec, path: string): readonly string[] {
  const problems: string[] = []
  if (!plugin.command) problems.push(`${path}.command is missing`)
  const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']
  if (!plugin.apiVersion) problems.push(`${path}.apiVersion is missing: write ${versions[0]}`)
  else if (!versions.includes(plugin.apiVersion)) {
    problems.push(`${path}.apiVersion must be ${versions.join(' or ')}: create the kubeconfig anew with a current tool`)
  }
  if (plugin.apiVersion === versions[0] && !plugin.interactiveMode) {
    problems.push(`${path}.interactiveMode is missing: write Never, IfAvailable or Always`)
  }
  if (plugin.interactiveMode && !['Never', 'IfAvailable', 'Always'].includes(plugin.interactiveMode)) {
    problems.push(`${path}.interactiveMode must be Never, IfAvailable or Always`)
  }
  plugin.env?.forEach(({ name }, index) => {
    if (!name) problems.push(`${path}.env[${index}].name is missing`)
  })
  return problems
}
