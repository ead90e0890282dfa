/**
 * `kube-apiserver` of a test control plane: the embedded API server behind the flags of the original. It keeps its objects in
 * memory, and runs the controllers of kube-apiserver and no others: no garbage collection, and a deleted namespace stays
 * terminating, as in every envtest.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { issueServing, loopbackAuthority, type ServerListener, startListener } from '../../apiserver/http/listener.ts'
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import { createWakingServer, type WakingServer } from '../../apiserver/server/lazy-start.ts'
import type { ServerAccessOptions } from '../../apiserver/access/access.ts'
import { aborted } from '../../clock/aborted.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { apiserverErrors } from '../../apiserver/errors.ts'
import { contractErrors } from '../../contract/errors.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import type { Certificate } from '../../pki/certificate-authority.ts'
import { readTrustBundle, type TrustBundle } from '../../pki/trust-bundle.ts'
import { errorCode } from '../../system/error-code.ts'
import { makeFolder } from '../../system/folder.ts'
import { type ApiServerSettings, readApiServerFlags } from './apiserver-flags.ts'
import type { ProgramContext } from './program-main.ts'

/** Serves until the signal. @throws InvalidFlag, ServerCertificateInvalid, SigningKeyInvalid, OutputUnwritable, ListenFailed */
export async function serveApiServer(words: readonly string[], { signal, say, out }: ProgramContext): Promise<void> {
  const settings = readApiServerFlags(words)
  if (settings === 'version') {
    const { versionDocument } = await import('../../apiserver/discovery/discovery.ts')
    out(`Kubernetes ${versionDocument['gitVersion']}`)
    return
  }
  for (const warning of settings.warnings) say(`kube-apiserver: ${warning}`)

  const access = await accessOf(settings)
  const server = createWakingServer(async () => {
    const { createLazyApiServer } = await import('../../apiserver/server/lazy-server.ts')
    return await createLazyApiServer({
      clock: systemClock,
      controllerManager: false,
      disableAdmissionPlugins: settings.disabledAdmissionPlugins,
      serviceRange: settings.serviceRange,
      access,
    })
  })
  const listener = await startListener(server, {
    clock: systemClock,
    host: settings.host,
    port: settings.port,
    serving: servingOf(settings),
    clientTrust: trustOf(settings),
  })
  say(`Serving securely on ${listener.url.slice('https://'.length)}`)
  warmUp(server, listener).catch(() => undefined)
  await aborted(signal)
  await listener.close()
}

/**
 * Loads what the first requests need while the caller sleeps. Callers ask for the health every 100 ms, then for a namespace, and
 * then they write: each of them would wait for the code of its first use. The order is theirs. A connection that arrives meanwhile
 * gets its turn between two steps.
 */
async function warmUp(server: WakingServer<ApiServer>, listener: ServerListener): Promise<void> {
  const steps: readonly (() => Promise<unknown>)[] = [
    () => server.wake(),
    () => listener.prepareHttp1(),
    () => server.handle({ method: 'GET', path: '/healthz', headers: {} }),
    () => listener.prepareHttp2(),
    () => server.handle({ method: 'GET', path: '/api/v1/namespaces/default', headers: {} }),
    async () => await (await server.wake()).prepareWrites(),
  ]
  for (const step of steps) {
    await step()
    await systemClock.sleep(0)
  }
}

async function accessOf(settings: ApiServerSettings): Promise<ServerAccessOptions> {
  const { tokenFile, signingKeyFile, issuer, authorization, anonymous } = settings
  const signingKey = signingKeyFile === undefined ? undefined : read('service-account-signing-key-file', signingKeyFile)
  if (signingKey !== undefined) {
    const { readSigningKey } = await import('../../apiserver/access/token-issuer.ts')
    readSigningKey(signingKey, signingKeyFile!)
  }
  const tokens =
    tokenFile === undefined
      ? undefined
      : (await import('./token-file.ts')).readTokenFile(read('token-auth-file', tokenFile), tokenFile)
  return { tokens, signingKey, issuer, authorization, strangers: anonymous ? 'anonymous' : 'refused' }
}

/** The certificate to show; undefined if the listener is to make its own. */
function servingOf({ servingCertificate: named, certDir }: ApiServerSettings): Certificate | undefined {
  if (named) return { cert: read('tls-cert-file', named.certFile), key: read('tls-private-key-file', named.keyFile) }
  if (certDir === undefined) return undefined
  const [certFile, keyFile] = [path.join(certDir, 'apiserver.crt'), path.join(certDir, 'apiserver.key')]
  const [cert, key] = [readIfThere(certFile), readIfThere(keyFile)]
  return cert !== undefined && key !== undefined ? { cert, key } : createServing(certFile, keyFile)
}

/** As kube-apiserver does: clients may take the file for the authority, which follows the certificate in it. */
function createServing(certFile: string, keyFile: string): Certificate {
  const authority = loopbackAuthority(systemClock)
  const { cert, key } = issueServing(authority, systemClock)
  const chain = `${cert}${authority.cert}`
  try {
    makeFolder(path.dirname(certFile))
    writeFileSync(keyFile, key, { mode: 0o600 })
    writeFileSync(certFile, chain)
  } catch (error) {
    const why = errorCode(error) ?? 'unknown error'
    throw new MusterError(contractErrors.OutputUnwritable, `--cert-dir: ${certFile} cannot be written (${why}).`, {
      cause: error,
    })
  }
  return { cert: chain, key }
}

/** Without a file no certificate counts, as on a real server. */
function trustOf({ clientCaFile }: ApiServerSettings): TrustBundle {
  if (clientCaFile === undefined) return { isClient: () => false }
  const bundle = readTrustBundle(read('client-ca-file', clientCaFile))
  if (bundle) return bundle
  throw new MusterError(
    apiserverErrors.ServerCertificateInvalid,
    `--client-ca-file ${clientCaFile} holds no valid certificate in PEM.`,
  )
}

function read(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const why = errorCode(error) === 'ENOENT' ? 'there is no such file' : (errorCode(error) ?? 'unknown error')
    throw new MusterError(flagErrors.InvalidFlag, `--${flag} ${file} cannot be read: ${why}.`, { cause: error })
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new MusterError(
      flagErrors.InvalidFlag,
      `--cert-dir: ${file} cannot be read (${errorCode(error) ?? 'unknown error'}).`,
    )
  }
}
