/**
 * Whether the embedded cluster of a kubeconfig runs. Each cluster has a certificate authority of its own, so the TLS handshake
 * decides: another server on that port has no certificate of it.
 */
import { readFileSync } from 'node:fs'

const patienceMs = 2000

/** The URL of the cluster. Undefined: not a kubeconfig of an embedded cluster, or that cluster has ended. */
export async function runningCluster(kubeconfig: string): Promise<string | undefined> {
  let text: string
  try {
    text = readFileSync(kubeconfig, 'utf8')
  } catch {
    return undefined
  }
  const [, port] = /^ *server: https:\/\/127\.0\.0\.1:(\d+)$/m.exec(text) ?? []
  const [, data] = /^ *certificate-authority-data: (\S+)$/m.exec(text) ?? []
  if (port === undefined || data === undefined) return undefined
  const { connect } = await import('node:tls')
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), ca: Buffer.from(data, 'base64').toString() })
    const end = (isRunning: boolean): void => {
      socket.destroy()
      resolve(isRunning)
    }
    socket.once('secureConnect', () => end(true))
    socket.once('error', () => end(false))
    socket.setTimeout(patienceMs, () => end(false))
  })
  return answers ? `https://127.0.0.1:${port}` : undefined
}
