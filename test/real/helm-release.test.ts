/**
 * Releases in the Secrets of the real Helm: it writes some, we read them; we give one back, and it goes on from there.
 * `MUSTER_RECORD=1` stores its Secret as the new vector.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { realHelm } from '../../scripts/real-binaries.ts'
import { connect } from '../../src/client/connect.ts'
import { Secret } from '../../src/kube/kinds.ts'
import { decodeReleaseSecret, encodeReleaseSecret } from '../../src/platform/helm-release/release-secret.ts'
import { servedCluster } from '../served-cluster.ts'

const run = promisify(execFile)
const vector = new URL('../vectors/helm-release.json', import.meta.url)

let helm: string
beforeAll(async () => {
  helm = await realHelm()
})

async function writeChart(folder: string): Promise<string> {
  const chart = path.join(folder, 'web')
  await mkdir(path.join(chart, 'templates'), { recursive: true })
  const files = {
    'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: "7"\n',
    'values.yaml': 'colour: red\nsize: 1\n',
    'templates/config.yaml':
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  colour: {{ .Values.colour }}\n',
    'templates/before.yaml': [
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata:',
      '  name: before',
      '  annotations:',
      '    helm.sh/hook: pre-upgrade',
      '    helm.sh/hook-weight: "-5"',
      '    helm.sh/hook-delete-policy: hook-succeeded',
      '',
    ].join('\n'),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(chart, name), text)
  return chart
}

it('reads what Helm writes, and gives a release back', { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'helm-release-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { kubeconfig } = await servedCluster(folder)
  const chart = await writeChart(folder)
  const call = async (...words: readonly string[]): Promise<string> => {
    const { stdout } = await run(helm, [...words, '--kubeconfig', kubeconfig, '--namespace', 'default'], {
      env: { ...process.env, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder },
    })
    return stdout
  }
  await call('install', 'shop', chart)
  await call('upgrade', 'shop', chart, '--set', 'colour=blue', '--set-json', 'size=1000000')

  const client = await connect({ kubeconfig })
  onTestFinished(() => client.close())
  const nameOf = (revision: number): string => `sh.helm.release.v1.shop.v${revision}`
  const written = await client.get(Secret, { namespace: 'default', name: nameOf(2) })
  if (process.env['MUSTER_RECORD']) {
    const { name, namespace, labels } = written.metadata
    const kept = { ...written, metadata: { name, namespace, labels } }
    await writeFile(vector, `${JSON.stringify(kept, undefined, 2)}\n`)
  }
  const release = decodeReleaseSecret(written)
  expect(release).toMatchObject({ name: 'shop', revision: 2, status: 'deployed', values: { colour: 'blue' } })
  const second = encodeReleaseSecret(release)
  expect(decodeReleaseSecret(second).document).toEqual(release.document)
  expect(written.metadata.labels).toMatchObject(second.metadata.labels!)

  // The history is gone, and comes back from here.
  for (const revision of [1, 2]) await client.delete(Secret, { namespace: 'default', name: nameOf(revision) })
  expect(JSON.parse(await call('list', '--output', 'json'))).toEqual([])
  await client.create(Secret, second)
  expect(JSON.parse(await call('get', 'values', 'shop', '--output', 'json'))).toEqual({
    colour: 'blue',
    size: 1_000_000,
  })
  await call('upgrade', 'shop', chart, '--reuse-values', '--set', 'colour=green')
  const history = JSON.parse(await call('history', 'shop', '--output', 'json')) as readonly object[]
  expect(history).toMatchObject([
    { revision: 2, status: 'superseded' },
    { revision: 3, status: 'deployed' },
  ])
})
