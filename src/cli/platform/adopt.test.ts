import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type PlatformCluster, platformCluster } from '../../../test/platform-cluster.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { platformErrors } from '../../platform/errors.ts'
import { decodeReleaseSecret, encodeReleaseSecret } from '../../platform/helm-release/release-secret.ts'
import { Installation } from '../../platform/installation/installation.ts'
import { cliErrors } from '../errors.ts'
import adopt from './adopt.ts'

const at = (name: string) => ({ name, namespace: 'default' })

/** What `helm install web ./web --set greeting=moin` leaves in a cluster. */
async function helmInstall({ client }: PlatformCluster, more = ''): Promise<void> {
  const annotations = { 'meta.helm.sh/release-name': 'web', 'meta.helm.sh/release-namespace': 'default' }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('web'), data: { greeting: 'moin' } } as const
  await client.create(ConfigMap, { ...object, metadata: { ...at('web'), annotations } }, { fieldManager: 'helm' })
  const manifest = `---\n# Source: web/templates/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: web }\ndata: { greeting: moin }\n${more}`
  const release = {
    name: 'web',
    namespace: 'default',
    chart: { name: 'web', version: '1.0.0' },
    manifest,
    hooks: [],
    document: {},
  }
  const values = { greeting: 'moin' }
  await client.create(Secret, encodeReleaseSecret({ ...release, values: {}, revision: 1, status: 'superseded' }))
  await client.create(Secret, encodeReleaseSecret({ ...release, values, revision: 2, status: 'deployed' }))
}

async function chartIn(folder: string): Promise<string> {
  await mkdir(path.join(folder, 'web', 'templates'), { recursive: true })
  await writeFile(path.join(folder, 'web', 'Chart.yaml'), 'apiVersion: v2\nname: web\nversion: 1.1.0\n')
  await writeFile(path.join(folder, 'web', 'values.yaml'), 'greeting: hello\n')
  await writeFile(
    path.join(folder, 'web', 'templates', 'config.yaml'),
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { greeting: {{ .Values.greeting }}, added: "1" }\n',
  )
  return path.join(folder, 'web')
}

describe('muster adopt release', () => {
  it('shows the difference first, takes the objects over, and gives them back', async () => {
    const cluster = await platformCluster()
    const { client, folder, run } = cluster
    await helmInstall(cluster, '---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: old }\n')
    const source = await chartIn(folder)
    const releases = async (): Promise<readonly string[]> =>
      (await client.list(Secret, { namespace: 'default', labelSelector: 'owner=helm' })).items.map(
        ({ metadata }) => metadata.name,
      )
    const managers = async (): Promise<readonly (string | undefined)[]> =>
      (await client.get(ConfigMap, at('web'))).metadata.managedFields?.map(({ manager }) => manager) ?? []
    const { uid } = (await client.get(ConfigMap, at('web'))).metadata

    const shown = await run(adopt, 'release', 'web', source)
    expect(shown.out).toContain('left in the cluster as they are: ConfigMap old')
    expect(shown.out).toMatch(/\+ {2}added: "?1"?\n[\s\S]*revision 2, add --yes/)
    expect((await client.list(Installation)).items).toEqual([])

    const taken = await run(adopt, 'release', 'web', source, '--yes')
    expect(taken).toMatchObject({
      code: 0,
      out: expect.stringContaining('is ready: revision 1, version 1.1.0') as string,
    })
    expect(await client.get(ConfigMap, at('web'))).toMatchObject({
      metadata: { uid },
      data: { greeting: 'moin', added: '1' },
    })
    expect(await releases()).toEqual([])
    // What Helm alone still owned could not be removed by an upgrade.
    expect(await managers()).toEqual(['muster-platform'])
    expect(JSON.stringify((await client.get(Installation, at('web'))).spec)).not.toContain('moin')
    await expect(run(adopt, 'release', 'web', source, '--yes')).rejects.toMatchObject({
      code: cliErrors.InstallationExists.code,
    })

    expect((await run(adopt, 'release', 'web', '--give-back')).out).toContain("is Helm's again, revision 3.")
    expect(await releases()).toEqual(['sh.helm.release.v1.web.v3'])
    const given = decodeReleaseSecret(await client.get(Secret, at('sh.helm.release.v1.web.v3')))
    expect(given).toMatchObject({ status: 'deployed', values: { greeting: 'moin' }, chart: { name: 'web' } })
    expect(given.manifest).toContain('added')
    expect(await managers()).toEqual(['helm'])
    const { metadata } = await client.get(ConfigMap, at('web'))
    expect(metadata.uid).toBe(uid)
    expect(
      Object.keys({ ...metadata.labels, ...metadata.annotations }).filter((key) => key.includes('muster')),
    ).toEqual([])
    expect((await client.list(Installation)).items).toEqual([])
  })

  it('takes the objects as they are without a chart, unless there are Secrets among them', async () => {
    const cluster = await platformCluster()
    const { client, run } = cluster
    await expect(run(adopt, 'release', 'web', '--yes')).rejects.toMatchObject({
      code: platformErrors.InvalidHelmRelease.code,
    })
    await helmInstall(cluster)
    expect(await run(adopt, 'release', 'web', '--yes')).toMatchObject({ code: 0 })
    expect((await client.get(Installation, at('web'))).status).toMatchObject({ revision: 1, objects: 1 })
  })

  it('does not show Secrets of a release in an Installation', async () => {
    const cluster = await platformCluster()
    await helmInstall(cluster, '---\napiVersion: v1\nkind: Secret\nmetadata: { name: web }\nstringData: { a: b }\n')
    await expect(cluster.run(adopt, 'release', 'web')).rejects.toThrow('has Secrets, which an Installation would show')
  })
})
