/**
 * Where credentials of this user are on this machine: kubeconfigs, the files they refer to, caches of credential plugins, tokens
 * of a Pod. Isolated operators and programs must not read them, so every sandbox takes its deny list from here.
 *
 * A token file is a secret without its kubeconfig, too: both are hidden, for every user of every kubeconfig, not only for the
 * current context. Certificate authorities are public and stay readable.
 */
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import {
  type Kubeconfig,
  type KubeconfigExec,
  type KubeconfigUser,
  parseKubeconfig,
  type KubeconfigPlace,
} from './kubeconfig.ts'
import { type Machine, systemMachine } from './machine.ts'

interface CredentialFilesOptions {
  /** Kubeconfigs in addition to the default ones; each may be a list, as in KUBECONFIG. @default none */
  readonly kubeconfigs?: readonly (string | undefined)[]
  /** @default the real machine */
  readonly machine?: Pick<Machine, 'env' | 'home' | 'readFile'>
}

/** Absolute paths of files and folders, existing or not. */
export async function credentialFiles(options: CredentialFilesOptions = {}): Promise<readonly string[]> {
  const { kubeconfigs = [], machine = systemMachine } = options
  const usual = join(machine.home(), '.kube', 'config')
  const files = [...kubeconfigs, machine.env['KUBECONFIG']].flatMap((named) => pathsIn(named ?? ''))
  const found = await Promise.all([usual, ...files].map(async (file) => await filesOfKubeconfig(file, machine)))
  return [...new Set([...podSecrets, dirname(usual), ...found.flat()])]
}

/** Kubeconfigs named by KUBECONFIG and flags. */
function pathsIn(named: string): readonly string[] {
  return named
    .split(delimiter)
    .filter(Boolean)
    .map((file) => resolve(file))
}

const podSecrets = ['/var/run/secrets', '/run/secrets', '/var/run/secrets/kubernetes.io/serviceaccount/token'] as const

/** The kubeconfig itself and the files it refers to. An unreadable one is hidden, too. */
async function filesOfKubeconfig(
  file: string,
  machine: Pick<Machine, 'home' | 'readFile'> = systemMachine,
): Promise<readonly string[]> {
  try {
    const kubeconfig = await parseKubeconfig(await machine.readFile(file), file, { file: true })
    return [file, ...filesReferredTo(kubeconfig, machine.home())]
  } catch {
    return [file]
  }
}

/** Files and folders with credentials that the users of a kubeconfig refer to, in any context. */
function filesReferredTo({ users }: Kubeconfig, home: string): readonly string[] {
  return [...users.values()].flatMap(({ value, place }) => filesOfUser(value, place, home))
}

function filesOfUser(user: KubeconfigUser, { directory }: KubeconfigPlace, home: string): readonly string[] {
  const { tokenFile, clientCertificate, clientKey, exec } = user
  const named = [tokenFile, clientCertificate, clientKey].flatMap((file) =>
    file ? [resolve(directory ?? '', file)] : [],
  )
  return [...named, ...(exec ? filesOfPlugin(exec, home) : [])]
}

/** Below the home folder: caches of plugins and tools of identity and cloud providers. */
const pluginFolders = [
  '.aws',
  '.azure',
  '.aliyun',
  '.bluemix',
  '.civo.json',
  '.config/doctl',
  '.config/exoscale',
  '.config/gcloud',
  '.config/linode-cli',
  '.config/pinniped',
  '.config/scw',
  '.config/tanzu',
  '.oci',
  '.tsh',
  '.vault-token',
] as const

/** A plugin keeps its tokens in the usual folders, or where its arguments and variables point to. */
function filesOfPlugin({ args = [], env = [] }: KubeconfigExec, home: string): readonly string[] {
  const variables = env.filter(({ name = '' }) => !ordinary.test(name)).map(({ value = '' }) => value)
  const words = [...args.map((word) => word.replace(/^--?[\w.-]+=/, '')), ...variables]
  const named = words
    .map((word) => (word.startsWith(`~${sep}`) ? join(home, word.slice(2)) : word))
    .filter((word) => isAbsolute(word))
    .map((word) => resolve(word))
  return [...pluginFolders.map((folder) => join(home, folder)), ...named.filter((place) => !isCommon(place, home))]
}

/** Variables that hold paths but no credentials. */
const ordinary = /^(?:PATH|HOME|PWD|TMPDIR|SHELL)$|(?:^|_)(?:CA|CERT)(?:_|$)/

const system: ReadonlySet<string> = new Set(['bin', 'dev', 'lib', 'lib64', 'nix', 'opt', 'proc', 'sbin', 'sys', 'usr'])

/** Not a plugin's own: a folder that contains everything else, or one of the system. */
function isCommon(place: string, home: string): boolean {
  const [, top = '', ...rest] = place.split(sep)
  const isAbove = (other: string): boolean => `${other}${sep}`.startsWith(place === sep ? sep : `${place}${sep}`)
  return system.has(top) || rest.length === 0 || isAbove(home) || isAbove(process.cwd())
}
