/** Starts an embedded cluster on this machine, and a kubeconfig that leads to it. */
import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { administrator } from '../apiserver/access/identity.ts'
import { createApiServer } from '../apiserver/api-server.ts'
import { type Listener, startListener } from '../apiserver/listener.ts'
import { systemClock } from '../clock/system-clock.ts'
import { MusterError } from '../kube/errors.ts'
import { writeYaml } from '../kube/yaml.ts'
import { type Command, defineCommand } from './command.ts'

export const command: Command = defineCommand({
  details:
    'The cluster lives in the memory of this process and ends with it (Ctrl-C). It is for trying things out, not for production.',
  flags: {
    port: { type: 'string', value: 'N', help: 'port on 127.0.0.1 (default: a free one)' },
    'kubeconfig-out': { type: 'string', value: 'FILE', help: 'kubeconfig to write (default: .muster/kubeconfig)' },
  },
  async run({ flags, positionals, out, signal }) {
    if (positionals.length > 0) throw new MusterError('InvalidFlag', 'start takes flags only.')
    const file = path.resolve(flags['kubeconfig-out'] ?? path.join('.muster', 'kubeconfig'))
    const token = randomBytes(32).toString('base64url')
    const tokens = new Map([[token, administrator]])
    const server = createApiServer({ clock: systemClock, access: { tokens } })
    const listener = await startListener(server, { clock: systemClock, port: readPort(flags.port) })
    try {
      await writeKubeconfig(file, listener, token)
      out(`an embedded cluster is ready on ${listener.url}; to use it: export KUBECONFIG=${quoted(file)}`)
      if (!signal.aborted) {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      }
    } finally {
      await listener.close()
    }
    return 0
  },
})

function readPort(text: string | undefined): number {
  if (text === undefined) return 0
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new MusterError('InvalidFlag', `--port ${text}: not a port. Give a number from 0 to 65535.`)
}

/** Readable for its owner alone, also where a file was there before. */
async function writeKubeconfig(file: string, { url, ca }: Listener, token: string): Promise<void> {
  const name = 'muster'
  const text = writeYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
    'current-context': name,
  })
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await rm(file, { force: true })
  await writeFile(file, text, { mode: 0o600, flag: 'wx' })
}

/** As a shell reads it. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
