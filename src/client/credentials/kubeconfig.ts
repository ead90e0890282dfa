/**
 * A kubeconfig: clusters, users and contexts (which user on which cluster), each by name.
 *
 * Pure: documents in, data out. Several documents merge as kubectl merges the files of KUBECONFIG: for each name, and for the
 * current context, the first one wins. A document of the wrong shape is rejected as a whole, with every problem; the contents
 * of entries are validated for the chosen context only (see `context.ts`), because one broken entry must not make all other
 * clusters unusable.
 */
import { dirname, resolve } from 'node:path'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Json, parseJson } from '../../kube/json.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import {
  anyMember,
  base64,
  dictionary,
  flag,
  listMember,
  member,
  type Reader,
  recordMember,
  requiredMember,
  textMember,
} from './document.ts'
import { readPlainYaml } from './plain-yaml.ts'

export interface KubeconfigCluster {
  readonly server?: string | undefined
  readonly tlsServerName?: string | undefined
  readonly insecureSkipTlsVerify?: boolean | undefined
  /** A path. */
  readonly certificateAuthority?: string | undefined
  /** PEM. */
  readonly certificateAuthorityData?: string | undefined
  readonly proxyUrl?: string | undefined
  readonly disableCompression?: boolean | undefined
  readonly extensions?: readonly KubeconfigExtension[] | undefined
}

interface KubeconfigExtension {
  readonly name?: string | undefined
  readonly extension?: Json | undefined
}

interface KubeconfigContext {
  readonly cluster?: string | undefined
  readonly user?: string | undefined
  readonly namespace?: string | undefined
}

export interface KubeconfigUser {
  /** Paths, and PEM where the name says data. */
  readonly clientCertificate?: string | undefined
  readonly clientCertificateData?: string | undefined
  readonly clientKey?: string | undefined
  readonly clientKeyData?: string | undefined
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly as?: string | undefined
  readonly asUid?: string | undefined
  readonly asGroups?: readonly string[] | undefined
  readonly asUserExtra?: Readonly<Record<string, readonly string[]>> | undefined
  readonly authProvider?: KubeconfigAuthProvider | undefined
  readonly exec?: KubeconfigExec | undefined
}

export interface KubeconfigAuthProvider {
  readonly name?: string | undefined
  readonly config?: Readonly<Record<string, string>> | undefined
}

export interface KubeconfigExec {
  readonly apiVersion?: string | undefined
  readonly command?: string | undefined
  readonly args?: readonly string[] | undefined
  readonly env?: readonly { readonly name?: string | undefined; readonly value?: string | undefined }[] | undefined
  readonly installHint?: string | undefined
  readonly interactiveMode?: string | undefined
  readonly provideClusterInfo?: boolean | undefined
}

/** The origin of an entry: for messages, and for its paths, which are relative to its file. */
export interface KubeconfigPlace {
  /** A file, or another source of the document. */
  readonly source: string
  /** The path in the document: `users[2].user`. */
  readonly path: string
  /** Undefined for a document that is not a file. */
  readonly directory: string | undefined
}

export interface KubeconfigEntry<T> {
  readonly value: T
  readonly place: KubeconfigPlace
}

export interface Kubeconfig {
  readonly sources: readonly string[]
  readonly currentContext: string | undefined
  readonly clusters: ReadonlyMap<string, KubeconfigEntry<KubeconfigCluster>>
  readonly contexts: ReadonlyMap<string, KubeconfigEntry<KubeconfigContext>>
  readonly users: ReadonlyMap<string, KubeconfigEntry<KubeconfigUser>>
}

interface Named<T> {
  readonly name?: string | undefined
  readonly value?: T | undefined
  /** The path of the value: `users[2].user`. */
  readonly path: string
}

interface Document {
  readonly kind?: string | undefined
  readonly apiVersion?: string | undefined
  readonly currentContext?: string | undefined
  readonly clusters?: readonly Named<KubeconfigCluster>[] | undefined
  readonly contexts?: readonly Named<KubeconfigContext>[] | undefined
  readonly users?: readonly Named<KubeconfigUser>[] | undefined
}

const cluster: Reader<KubeconfigCluster> = recordMember<KubeconfigCluster>({
  server: member('server', textMember),
  tlsServerName: member('tls-server-name', textMember),
  insecureSkipTlsVerify: member('insecure-skip-tls-verify', flag),
  certificateAuthority: member('certificate-authority', textMember),
  certificateAuthorityData: member('certificate-authority-data', base64),
  proxyUrl: member('proxy-url', textMember),
  disableCompression: member('disable-compression', flag),
  extensions: member(
    'extensions',
    listMember(
      recordMember<KubeconfigExtension>({
        name: member('name', textMember),
        extension: member('extension', anyMember),
      }),
    ),
  ),
})

const context: Reader<KubeconfigContext> = recordMember<KubeconfigContext>({
  cluster: member('cluster', textMember),
  user: member('user', textMember),
  namespace: member('namespace', textMember),
})

const exec: Reader<KubeconfigExec> = recordMember<KubeconfigExec>({
  apiVersion: member('apiVersion', textMember),
  command: member('command', textMember),
  args: member('args', listMember(textMember)),
  env: member(
    'env',
    listMember(recordMember({ name: member('name', textMember), value: member('value', textMember) })),
  ),
  installHint: member('installHint', textMember),
  interactiveMode: member('interactiveMode', textMember),
  provideClusterInfo: member('provideClusterInfo', flag),
})

const user: Reader<KubeconfigUser> = recordMember<KubeconfigUser>({
  clientCertificate: member('client-certificate', textMember),
  clientCertificateData: member('client-certificate-data', base64),
  clientKey: member('client-key', textMember),
  clientKeyData: member('client-key-data', base64),
  token: member('token', textMember),
  tokenFile: member('tokenFile', textMember),
  username: member('username', textMember),
  password: member('password', textMember),
  as: spelledAlso('as', textMember),
  asUid: spelledAlso('as-uid', textMember),
  asGroups: spelledAlso('as-groups', listMember(textMember)),
  asUserExtra: spelledAlso('as-user-extra', dictionary(listMember(textMember))),
  authProvider: member(
    'auth-provider',
    recordMember<KubeconfigAuthProvider>({
      name: member('name', textMember),
      config: member('config', dictionary(textMember)),
    }),
  ),
  exec: member('exec', exec),
})

const document: Reader<Document> = recordMember<Document>({
  kind: member('kind', textMember),
  apiVersion: member('apiVersion', textMember),
  currentContext: member('current-context', textMember),
  clusters: member('clusters', listMember(named('cluster', cluster))),
  contexts: member('contexts', listMember(named('context', context))),
  users: member('users', listMember(named('user', user))),
})

function named<T>(key: string, reader: Reader<T>): Reader<Named<T>> {
  const entry = recordMember<Omit<Named<T>, 'path'>>({
    name: requiredMember('name', textMember),
    value: member(key, reader as Reader<NonNullable<T>>),
  })
  return (value, path, problems) => {
    const read = entry(value, path, problems)
    return read && { ...read, path: `${path}.${key}` }
  }
}

/** Impersonation is also documented as `act-as…`. Ignoring it would mean to act with more permissions than intended. */
function spelledAlso<T>(key: string, reader: Reader<T>): ReturnType<typeof member<T>> {
  const [short, long] = [member(key, reader), member(`act-${key}`, reader)]
  return (parent, path, problems) => short(parent, path, problems) ?? long(parent, path, problems)
}

/** A kubeconfig as text. `file`: `source` is a file, and paths are relative to its directory. */
export async function parseKubeconfig(
  content: string,
  source: string,
  options: { readonly file?: boolean } = {},
): Promise<Kubeconfig> {
  return readKubeconfig(await parseDocument(content, source), source, options)
}

/** A parsed kubeconfig. `null` is an empty one. */
export function readKubeconfig(value: unknown, source: string, options: { readonly file?: boolean } = {}): Kubeconfig {
  const problems: string[] = []
  const read = value === null || value === undefined ? {} : document(value as Json, '', problems)
  if (read?.kind && (read.kind !== 'Config' || (read.apiVersion && read.apiVersion !== 'v1'))) {
    throw malformedKubeconfig(source, [
      `this is a ${[read.apiVersion, read.kind].filter(Boolean).join(' ')}, where a kubeconfig (v1 Config) is expected`,
    ])
  }
  const directory = options.file ? dirname(resolve(source)) : undefined
  const byName = <T>(section: string, found: readonly Named<T>[] = []): Map<string, KubeconfigEntry<T>> => {
    const entries = new Map<string, KubeconfigEntry<T>>()
    for (const { name = '', value: entry, path } of found) {
      if (entries.has(name)) problems.push(`${section} has "${name}" twice, again at ${path}`)
      else entries.set(name, { value: entry ?? ({} as T), place: { source, path, directory } })
    }
    return entries
  }
  const kubeconfig: Kubeconfig = {
    sources: [source],
    currentContext: read?.currentContext || undefined,
    clusters: byName('clusters', read?.clusters),
    contexts: byName('contexts', read?.contexts),
    users: byName('users', read?.users),
  }
  if (problems.length > 0) throw malformedKubeconfig(source, problems)
  return kubeconfig
}

export function mergeKubeconfigs(kubeconfigs: readonly Kubeconfig[]): Kubeconfig {
  const first = <T>(section: (kubeconfig: Kubeconfig) => ReadonlyMap<string, T>): Map<string, T> =>
    new Map(kubeconfigs.toReversed().flatMap((kubeconfig) => Array.from(section(kubeconfig))))
  return {
    sources: kubeconfigs.flatMap(({ sources }) => sources),
    currentContext: kubeconfigs.find(({ currentContext }) => currentContext)?.currentContext,
    clusters: first(({ clusters }) => clusters),
    contexts: first(({ contexts }) => contexts),
    users: first(({ users }) => users),
  }
}

export function isEmptyKubeconfig({ clusters, contexts, users }: Kubeconfig): boolean {
  return clusters.size + contexts.size + users.size === 0
}

/** The error for an unusable kubeconfig: every problem, with its source. */
export function malformedKubeconfig(source: string, problems: readonly string[]): MusterError {
  const shown = problems.slice(0, 10)
  const more = problems.length > shown.length ? `; and ${problems.length - shown.length} more` : ''
  return new MusterError(clientErrors.KubeconfigMalformed, `${source}: ${shown.join('; ')}${more}.`)
}

/** Parses JSON or YAML. The parsers' own messages quote the document, so only the position is taken from them. */
async function parseDocument(content: string, source: string): Promise<Json> {
  const clean = content.replace(/^\uFEFF/, '')
  if (clean.includes('\0') || clean.includes('\uFFFD')) {
    throw malformedKubeconfig(source, [
      'it is not text: a kubeconfig is YAML or JSON in UTF-8 (PowerShell writes UTF-16)',
    ])
  }
  if (clean.trim() === '') return null
  const isJson = clean.trimStart().startsWith('{')
  if (isJson) {
    try {
      return parseJson(clean)
    } catch {
      // YAML may begin with a brace, too, and its parser reports the line.
    }
  }
  const plain = readPlainYaml(clean)
  if (plain !== undefined) return plain
  const { readYaml } = await import('../../kube/yaml/yaml.ts')
  try {
    // Strict: of two lists of users, as in concatenated files, the first would be lost silently.
    return readYaml(clean, { strict: true })
  } catch (error) {
    throw malformedKubeconfig(source, [`it is not valid ${isJson ? 'JSON or YAML' : 'YAML'}: ${reasonOf(error)}`])
  }
}

/** The message of a parser up to the quoted text: the document is full of secrets. */
function reasonOf(error: unknown): string {
  const [reason = ''] = error instanceof Error ? error.message.split(/["'`<{[]/) : []
  return trimEnd(reason, ' \n\t.:,')
}
