/** The commands of docs/installations.md run as they are shown, on the manager and the cluster that it starts. */
import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import { ConfigMap, Secret } from '../../src/kube/kinds.ts'
import { encodeReleaseSecret } from '../../src/platform/helm-release/release-secret.ts'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(path.join(root, 'docs', 'installations.md'), 'utf8')
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text ?? '')
const main = path.join(root, 'src', 'cli', 'main.ts')

/** Resolves when the operator runs; the process ends with the test. */
async function started(folder: string, words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [main, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'muster-platform is running') return
  }
  throw new Error(`muster ${words.join(' ')} has ended.`)
}

/** What `helm install api ./web --set greeting=moin` leaves in a cluster, for the part about Helm. */
async function helmInstall(kubeconfig: string): Promise<void> {
  const client = await connect({ kubeconfig })
  const place = { name: 'api', namespace: 'default' }
  const annotations = { 'meta.helm.sh/release-name': 'api', 'meta.helm.sh/release-namespace': 'default' }
  const values = { greeting: 'moin' }
  const metadata = { ...place, annotations }
  await client.create(
    ConfigMap,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: values },
    { fieldManager: 'helm' },
  )
  const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: api }\ndata: { greeting: moin }\n'
  const chart = { name: 'web', version: '1.0.0' }
  const release = { ...place, chart, manifest, values, revision: 1, status: 'deployed', hooks: [], document: {} }
  await client.create(Secret, encodeReleaseSecret(release))
  await client.close()
}

describe('docs/installations.md', () => {
  it('shows commands that run', { timeout: 60_000 }, async () => {
    const folder = await emptyFolder()
    const [words = ''] = page.match(/(?<=^ {4}muster )run .*--embedded$/m) ?? []
    await started(folder, words.split(' '))
    await helmInstall(path.join(folder, '.muster', 'kubeconfig'))
    // Where there is no kubectl, its lines are left out.
    const kubectl = 'command -v kubectl > /dev/null || kubectl() { :; }'
    const muster = `muster() { "${process.execPath}" "${main}" "$@"; }`
    const script = ['set -e', kubectl, muster, ...blocks].join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd: folder })
    expect(stdout).toContain('Installation default/web is ready: revision 1, version 1.0.0, 1 object.')
    expect(stdout).toContain('-  greeting: hello\n+  greeting: moin')
    expect(stdout).toMatch(/goes back to revision 1\.[\s\S]*is ready: revision 1,[\s\S]*is ready: revision 2,/)
    expect(stdout).toContain('is ready: revision 3')
    expect(stdout).toContain('Installation default/web is removed.')
    expect(stdout).toMatch(/revision 1, add --yes[\s\S]*Installation default\/api is ready: revision 1/)
    expect(stdout).toContain('url: https://charts.example.com')
  })
})
