/** What `muster start` and `muster apiserver` share: an embedded cluster on loopback, and its kubeconfig. */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { administrator } from '../../apiserver/access/identity.ts'
import { readSigningKey } from '../../apiserver/access/token-issuer.ts'
import type { ApiServer, DurableApiServer, Workloads } from '../../apiserver/server/api-server.ts'
import { type JournalFolder, openFolder } from '../../apiserver/storage/journal/folder.ts'
import { kubeconfigText } from '../../apiserver/http/kubeconfig.ts'
import { type ServerListener, startListener } from '../../apiserver/http/listener.ts'
import { createWakingServer, type WakingServer } from '../../apiserver/server/lazy-start.ts'
import { errorCode } from '../../system/error-code.ts'
import { makeFolder } from '../../system/folder.ts'
import { aborted } from '../../clock/aborted.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { apiserverErrors } from '../../apiserver/errors.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { CertificateAuthority } from '../../pki/certificate-authority.ts'
import { identityOf, storeIdentity } from './kept-identity.ts'
import { runningCluster } from './running-cluster.ts'

/** The configuration of a manager beside an embedded cluster, unless the user names another. */
export const embeddedConfigMap = 'default/muster'

interface EmbeddedClusterOptions {
  /** The value of the flag. @default a free port */
  readonly port: string | undefined
  /** The kubeconfig to write. */
  readonly kubeconfig: string
  /** The folder of the data. @default in memory only */
  readonly folder: string | undefined
  /** A must-gather directory to load. Garbage collection is off then, since owners may be missing in it. */
  readonly importFrom?: string | undefined
  /** A must-gather directory to write at the end. */
  readonly exportTo?: string | undefined
  readonly warn?: ((line: string) => void) | undefined
  /** Number of simulated nodes, the value of the flag; without nodes workloads are not simulated. @default none */
  readonly nodes?: string | undefined
  readonly signal: AbortSignal
  ready(cluster: ReadyCluster): void
}

/** A cluster that accepts requests. */
export interface ReadyCluster {
  readonly url: string
  /** The shell command that sets KUBECONFIG. */
  readonly use: string
  /** A remark about its data. */
  readonly note: string
}

/** Starts the cluster, runs the work, and stops the cluster. */
export async function besideEmbeddedCluster(
  options: Omit<EmbeddedClusterOptions, 'signal' | 'ready'>,
  work: (cluster: ReadyCluster) => Promise<void>,
): Promise<void> {
  const end = new AbortController()
  const ready = Promise.withResolvers<ReadyCluster>()
  const ending = runEmbeddedCluster({ ...options, signal: end.signal, ready: ready.resolve })
  try {
    // A failed start is the error to report.
    const cluster = await Promise.race([ready.promise, ending])
    if (cluster) await work(cluster)
  } finally {
    end.abort()
    await ending
  }
}

/** Runs until the signal is aborted. */
export async function runEmbeddedCluster(options: EmbeddedClusterOptions): Promise<void> {
  const { kubeconfig, signal } = options
  const port = readPort(options.port)
  const other = await runningCluster(kubeconfig)
  if (other !== undefined) {
    throw new MusterError(
      apiserverErrors.StorageInUse,
      `${kubeconfig} leads to a cluster that runs on ${other}, and is left to it.`,
    )
  }
  const identity = identityOf(options.folder)
  const { token, authority } = identity
  const opened = await open(options, new Map([[token, administrator]]), authority.cert)
  try {
    if (options.importFrom !== undefined) {
      await (await opened.server.wake()).importGather(options.importFrom, { warn: options.warn })
    }
    const listener = await listen(opened.server, { chosen: port, kept: identity.port, authority })
    if (options.folder !== undefined)
      storeIdentity(options.folder, { ...identity, port: Number(new URL(listener.url).port) })
    try {
      writeKubeconfig(kubeconfig, listener, token)
      options.ready({ url: listener.url, use: `export KUBECONFIG=${quoted(kubeconfig)}`, note: opened.note })
      // Clients take a moment to connect after that line; an error in the meantime is returned to them.
      Promise.all([opened.server.wake(), listener.prepareHttp1()]).catch(() => undefined)
      await aborted(signal)
    } finally {
      await listener.close()
    }
    if (options.exportTo !== undefined) await (await opened.server.wake()).exportGather(options.exportTo)
  } finally {
    await opened.close()
  }
}

/** On the port of the last start, unless another one is chosen or a program has taken it meanwhile. */
async function listen(
  server: WakingServer<ApiServer>,
  { chosen, kept, authority }: { chosen: number; kept: number; authority: CertificateAuthority },
): Promise<ServerListener> {
  const start = async (port: number): Promise<ServerListener> =>
    await startListener(server, { clock: systemClock, port, authority })
  if (chosen !== 0 || kept === 0) return await start(chosen)
  try {
    return await start(kept)
  } catch (error) {
    if (isMusterError(error, apiserverErrors.ListenFailed)) return await start(0)
    throw error
  }
}

interface Opened {
  readonly server: WakingServer<ApiServer>
  readonly note: string
  close(): Promise<void>
}

async function open(
  { folder, importFrom, nodes }: EmbeddedClusterOptions,
  tokens: ReadonlyMap<string, typeof administrator>,
  rootCa: string,
): Promise<Opened> {
  const count = readNodes(nodes)
  // A must-gather may be a part of a cluster: nothing is added to it, and nothing is garbage-collected.
  const isWhole = importFrom === undefined
  const common = { clock: systemClock, collectGarbage: isWhole, serviceAccounts: isWhole, rootCa }
  const opened =
    folder === undefined
      ? inMemory(async () => {
          const { createLazyApiServer } = await import('../../apiserver/server/lazy-server.ts')
          return await createLazyApiServer({ ...common, access: { tokens }, workloads: await workloadsOn(count) })
        })
      : inFolder(await openData(folder, () => void keptSigningKey(folder)), async (kept) => {
          const { openLazyApiServer } = await import('../../apiserver/server/lazy-server.ts')
          const access = { tokens, signingKey: signingKeyIn(folder) }
          return await openLazyApiServer({ ...common, folder: kept, access, workloads: await workloadsOn(count) })
        })
  // Simulated nodes and workloads start without a request.
  if (count > 0) await opened.server.wake()
  return opened
}

function inMemory(build: () => Promise<ApiServer>): Opened {
  return { server: createWakingServer(build), note: '', close: () => Promise.resolve() }
}

function inFolder(kept: JournalFolder, build: (kept: JournalFolder) => Promise<DurableApiServer>): Opened {
  const { tornBytes, release } = kept
  const server = createWakingServer(async () => await build(kept))
  return {
    server,
    note: tornBytes > 0 ? ` (an unfinished write of ${tornBytes} bytes was cut off)` : '',
    async close() {
      const awake = await server.awake()
      if (awake) await awake.close()
      else release()
    },
  }
}

/** The signing key of service account tokens is stored with the data, so that tokens survive a restart. */
const signingKeyPlace = (folder: string): string => path.join(folder, 'service-accounts.pem')

function signingKeyIn(folder: string): string {
  const known = keptSigningKey(folder)
  if (known !== undefined) return known
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const file = signingKeyPlace(folder)
  const draft = `${file}.draft`
  // Atomic: a crash leaves the whole file or none.
  rmSync(draft, { force: true })
  writeFileSync(draft, pem, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(draft, file)
  return pem
}

/** Undefined if there is no key yet. @throws SigningKeyInvalid */
function keptSigningKey(folder: string): string | undefined {
  const file = signingKeyPlace(folder)
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    const why = `${file} cannot be read (${errorCode(error) ?? 'unknown error'}).`
    throw new MusterError(apiserverErrors.SigningKeyInvalid, why, { cause: error })
  }
  readSigningKey(pem, file)
  return pem
}

async function workloadsOn(count: number): Promise<Workloads | undefined> {
  if (count === 0) return undefined
  const { simulatedNodes, simulatedWorkloads } = await import('../../apiserver/simulated/simulation.ts')
  return simulatedWorkloads({ nodes: simulatedNodes(count) })
}

function readNodes(text: string | undefined): number {
  if (text === undefined) return 0
  const count = Number(text)
  if (/^\d{1,4}$/.test(text) && count <= 1000) return count
  throw new MusterError(flagErrors.InvalidFlag, `--nodes ${text}: not a number of nodes. Give a number from 0 to 1000.`)
}

function readPort(text: string | undefined): number {
  if (text === undefined) return 0
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new MusterError(flagErrors.InvalidFlag, `--port ${text}: not a port. Give a number from 0 to 65535.`)
}

/** Readable by its owner only, even if the file existed before. */
function writeKubeconfig(file: string, listener: ServerListener, token: string): void {
  makeFolder(path.dirname(file), 0o700)
  rmSync(file, { force: true })
  writeFileSync(file, kubeconfigText(listener, { token }), { mode: 0o600, flag: 'wx' })
}

/** `check` validates the folder before the cluster is announced as ready. @throws OutputUnwritable */
async function openData(folder: string, check: () => void): Promise<JournalFolder> {
  let kept: JournalFolder | undefined
  try {
    kept = await openFolder(folder)
    check()
    return kept
  } catch (error) {
    kept?.release()
    const { unwritable } = await import('../command/named-file.ts')
    throw unwritable('data', folder, error)
  }
}

/** Quoted for a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
