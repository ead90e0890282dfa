/** The commands for Installations, on one embedded cluster with a manager. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { platformCluster, runCommand } from '../../../test/platform-cluster.ts'
import { emptyFolder } from '../../../test/project.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { Installation } from '../../platform/installation/installation.ts'
import { cliErrors } from '../errors.ts'
import diff from './diff.ts'
import history from './history.ts'
import install from './install.ts'
import rollback from './rollback.ts'
import uninstall from './uninstall.ts'
import upgrade from './upgrade.ts'

const chart = {
  'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.2.3\n',
  'values.yaml': 'greeting: hello\nkey: word\n',
  'templates/config.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata: { {{ .Values.key }}: {{ .Values.greeting | quote }} }\n',
  'templates/secret.yaml':
    'apiVersion: v1\nkind: Secret\nmetadata: { name: {{ .Release.Name }} }\nstringData: { password: {{ .Values.greeting | quote }} }\n',
  'templates/NOTES.txt': 'Enjoy {{ .Release.Name }}.',
}

async function written(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return folder
}

describe('an Installation from the command line', () => {
  it('is installed, compared, upgraded, rolled back and removed', async () => {
    const { client, folder, run } = await platformCluster()
    const source = await written(path.join(folder, 'web'), chart)
    const at = { name: 'web', namespace: 'default' }
    const word = async (): Promise<string | undefined> => (await client.get(ConfigMap, at)).data?.['word']

    const first = await run(install, 'web', source)
    expect(first).toMatchObject({ code: 0 })
    expect(first.out).toContain(
      'Installation default/web is ready: revision 1, version 1.2.3, 2 objects.\n\nEnjoy web.',
    )
    await expect(run(install, 'web', source)).rejects.toMatchObject({ code: cliErrors.InstallationExists.code })

    expect(await run(diff, 'web', source)).toEqual({ code: 0, out: '', err: 'nothing would change' })
    const changes = await run(diff, 'web', source, '--set', 'greeting=s3cret', '--exit-code')
    expect(changes.code).toBe(2)
    expect(changes.out).toContain('--- ConfigMap default/web\n+++ ConfigMap default/web')
    expect(changes.out).toContain('-  password: (secret)\n+  password: (another secret)')
    expect(changes.out).not.toContain('s3cret')

    expect(await run(upgrade, 'web', source, '--set', 'greeting=moin')).toMatchObject({ code: 0 })
    expect(await word()).toBe('moin')
    // Without values those of before stay.
    expect(await run(upgrade, 'web')).toMatchObject({ code: 0 })
    expect((await client.get(Installation, at)).spec.values).toEqual({ greeting: 'moin' })

    const back = await run(rollback, 'web')
    expect(back.out).toContain('goes back to revision 1.\n')
    expect(await word()).toBe('hello')
    expect((await run(history, 'web')).out).toMatch(
      /^REVISION.*\n.*1 .* Superseded .*\n.*2 .* Superseded .*\n.*1 .* Deployed .* pinned /,
    )
    await expect(run(rollback, 'web', '7')).rejects.toThrow('has no revision 7; there are 1, 2.')
    await expect(run(rollback, 'web')).rejects.toThrow('has no revision before 1')

    expect(await run(upgrade, 'web')).toMatchObject({ code: 0 })
    expect(await word()).toBe('moin')

    expect((await run(uninstall, 'web')).out).toContain('Installation default/web is removed.')
    await expect(word()).rejects.toThrow('not found')
    await expect(run(uninstall, 'web')).rejects.toMatchObject({ code: cliErrors.InstallationNotFound.code })
  })

  it('reports why an upgrade failed, and that the last good revision is active again', async () => {
    const { client, folder, run } = await platformCluster()
    const source = await written(path.join(folder, 'web'), chart)
    expect(await run(upgrade, 'web', source, '--create')).toMatchObject({ code: 0 })
    const failed = await run(upgrade, 'web', '--set', 'key=not a key!')
    expect(failed.code).toBe(1)
    expect(failed.out).toMatch(/has failed: Revision 2 failed: ConfigMap .*Revision 1 is active again/)
    expect((await client.get(ConfigMap, { name: 'web', namespace: 'default' })).data).toEqual({ word: 'hello' })
    expect((await run(history, 'web', '-o', 'json')).out).toContain('"state": "Failed"')
    expect((await run(uninstall, 'web', '--keep')).out).toContain('its objects stay')
    expect((await client.get(ConfigMap, { name: 'web', namespace: 'default' })).data).toEqual({ word: 'hello' })
  })
})

describe('the source of an Installation', () => {
  const printed = async (...words: readonly string[]): Promise<string> =>
    (await runCommand(install, 'web', ...words, '--dry-run')).out

  it('is a reference, a name in a repository, or files of this machine', async () => {
    const folder = await emptyFolder()
    const manifests = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n'
    await written(folder, {
      'one/a.yaml': manifests,
      'two/kustomization.yaml': 'resources: [../one/a.yaml, b.yaml]\n',
      'two/b.yaml': manifests,
    })
    await written(path.join(folder, 'web'), chart)
    expect(await printed('oci://registry.example/charts/web:1.2.3')).toContain(
      'oci:\n      url: oci://registry.example/charts/web\n      version: 1.2.3',
    )
    expect(
      await printed('web', '--repo', 'https://charts.example', '--version', '^1', '--source-secret', 'login'),
    ).toContain('chart: web\n')
    const artifact = ['oci://registry.example/app:v1', '--kind', 'manifests', '--path', 'deploy', '--interval', '10m']
    const declared = await printed(...artifact, '--image', 'redis=registry.example/redis')
    for (const text of ['kind: Manifests\n', 'path: deploy\n', 'interval: 10m\n', 'from: redis\n'])
      expect(declared).toContain(text)
    expect(await printed(path.join(folder, 'one'))).toContain('manifests:\n')
    expect(await printed(path.join(folder, 'two'))).toContain('kustomize:\n')
    const whole = await printed(
      path.join(folder, 'web'),
      '-n',
      'shop',
      '--set',
      'a.b=1',
      '--values-from',
      'secret/login',
      '--service-account',
      'deployer',
      '--target-namespace',
      'other',
    )
    for (const text of [
      'namespace: shop',
      'Chart.yaml: |',
      'b: 1',
      'kind: Secret',
      'serviceAccountName: deployer',
      'targetNamespace: other',
    ])
      expect(whole).toContain(text)
  })

  it('is refused with a cure where an Installation has no place for it', async () => {
    const folder = await emptyFolder()
    await written(folder, { 'Chart.yaml': chart['Chart.yaml'], 'large.txt': 'x'.repeat(1_100_000) })
    await expect(printed('https://example.com/web-1.2.3.tgz')).rejects.toThrow('push it to an OCI registry')
    await expect(printed(folder)).rejects.toThrow('an Installation holds at most 1000000')
    await expect(printed(folder, '--version', '1')).rejects.toThrow('--version is not for')
    await expect(printed(folder, '--interval', '1m')).rejects.toThrow('--interval is not for')
    const reference = 'oci://registry.example/web'
    await expect(printed(reference, '--kind', 'rpm')).rejects.toThrow('write one of Chart, Manifests, Kustomization')
    await expect(printed(reference, '--interval', 'often')).rejects.toThrow('write a duration')
    await expect(printed(reference, '--image', 'redis')).rejects.toThrow('write FROM=TO')
    await expect(printed('oci://registry.example/web:1', '--version', '2')).rejects.toThrow('names a version itself')
    await expect(printed(folder, '--values-from', 'pod/x')).rejects.toThrow('write Secret/NAME or ConfigMap/NAME')
    await expect(runCommand(install, 'web')).rejects.toMatchObject({ code: flagErrors.InvalidFlag.code })
    await expect(printed(folder, '--timeout', 'soon')).rejects.toMatchObject({ code: flagErrors.InvalidFlag.code })
  })

  it('is compared with the objects that its chart looks up', async () => {
    const { client, folder, run } = await platformCluster()
    const secret = `{{- $live := lookup "v1" "Secret" .Release.Namespace "found" }}
apiVersion: v1
kind: Secret
metadata: { name: found }
data: { password: {{ if $live }}{{ $live.data.password }}{{ else }}{{ randAlphaNum 20 | b64enc }}{{ end }} }
`
    const files = { 'Chart.yaml': chart['Chart.yaml'], 'templates/secret.yaml': secret }
    const source = await written(path.join(folder, 'looking'), files)
    expect(await run(install, 'looking', source)).toMatchObject({ code: 0 })
    expect(await run(diff, 'looking', source)).toMatchObject({ out: '', err: 'nothing would change' })
    // With other values the objects are looked up anew: its own password is found.
    expect(await run(diff, 'looking', source, '--set', 'a=b')).toMatchObject({ out: '', err: 'nothing would change' })
    const at = { name: 'found', namespace: 'default' }
    const { data } = await client.get(Secret, at)
    expect(await run(upgrade, 'looking', source, '--set', 'a=b')).toMatchObject({ code: 0 })
    expect((await client.get(Secret, at)).data).toEqual(data)
  })
})
