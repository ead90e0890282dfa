import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder, muster } from '../../../test/project.ts'
import { crds } from '../../../test/embedded.ts'
import { connect } from '../../client/connect.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import start from '../cluster/start.ts'

const example = fileURLToPath(new URL('../../../examples/memcached/operator.ts', import.meta.url))
const shell = fileURLToPath(new URL('../../../test/contract/shell-operator.sh', import.meta.url))
const Namespace: TypedResource = resourceOf('v1', 'Namespace')
const memcacheds: Resource = {
  group: 'cache.example.com',
  version: 'v1alpha1',
  kind: 'Memcached',
  plural: 'memcacheds',
  namespaced: true,
}

describe('muster plan', { timeout: 60_000 }, () => {
  it('shows a diff and writes nothing; its exit code reports changes', async () => {
    const folder = await emptyFolder()
    const kubeconfig = path.join(folder, 'kubeconfig')
    const stop = new AbortController()
    const ready = Promise.withResolvers<string>()
    const cluster = start.run({
      flags: { 'kubeconfig-out': kubeconfig, nodes: '0' },
      positionals: [],
      out: ready.resolve,
      err: ready.reject,
      signal: stop.signal,
    })
    onTestFinished(async () => {
      stop.abort()
      await cluster
    })
    await ready.promise
    const client = await connect({ kubeconfig })
    onTestFinished(() => client.close())
    const plan = (...words: readonly string[]) => muster(folder, 'plan', example, '--kubeconfig', kubeconfig, ...words)

    const missing = await plan()
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('Memcached')])

    const crd = readYaml((await muster(folder, 'generate', 'crd', example)).stdout) as unknown as UntypedObject
    await client.create(crds, crd)
    for await (const { object } of client.watch(crds)) if (JSON.stringify(object).includes('"Established"')) break
    expect(await plan()).toMatchObject({ code: 0, stdout: '# memcached: nothing to do for 0 CRs.\n' })

    const metadata = { name: 'a', namespace: 'default' }
    await client.create(memcacheds, { apiVersion: 'cache.example.com/v1alpha1', kind: 'Memcached', metadata, spec: {} })
    const { code, stdout } = await plan('default/a')
    expect(code).toBe(2)
    expect(stdout).toContain(
      '# Memcached default/a (memcached)\n--- /dev/null\n+++ v1/ConfigMap/default/a\n@@ -0,0 +1,',
    )
    expect(stdout).toContain('\n# memcached: 2 to create, 1 to change, 0 to delete.\n')
    // A pipe is no terminal.
    expect(stdout).not.toContain('\u001B')
    await expect(client.get(ConfigMap, metadata)).rejects.toThrow('not found')

    const json = JSON.parse((await plan('--json')).stdout) as {
      readonly changes: readonly { readonly action: string }[]
    }
    expect(json.changes.map(({ action }) => action)).toEqual(['create', 'create', 'change'])
    expect((await plan('b')).stderr).toContain('there is no Memcached "b"')

    // The same of what a configuration names, programs among them.
    await copyFile(shell, path.join(folder, 'shell.sh'))
    const operators = {
      memcached: { from: example, config: {} },
      shell: { program: { command: './shell.sh' }, allowUnenforced: true },
      teller: { program: { command: './teller.sh' } },
    }
    await mkdir(path.join(folder, '.muster'))
    await writeFile(path.join(folder, '.muster', 'kubeconfig'), 'hush\n')
    await writeFile(
      path.join(folder, 'teller.sh'),
      '#!/bin/sh\ncat "$PWD"/kubeconfig "$PWD"/.muster/kubeconfig >&2\nexit 3\n',
      {
        mode: 0o755,
      },
    )
    await writeFile(path.join(folder, 'muster.yaml'), JSON.stringify({ operators }))
    const named = (...words: readonly string[]) =>
      muster(folder, 'plan', ...words, '--file', 'muster.yaml', '--kubeconfig', kubeconfig)
    const summary = expect.stringContaining('\n# memcached: 2 to create, 1 to change, 0 to delete.\n') as string
    expect(await named('memcached', 'default/a')).toMatchObject({ code: 2, stdout: summary })
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    const wish = { name: 'wish', namespace: 'shop', labels: { answer: 'wanted' } }
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: wish, data: { size: '3' } })
    const answer = await named('shell')
    expect([answer.code, answer.stdout]).toEqual([2, expect.stringContaining('+++ v1/ConfigMap/shop/answer')])
    await expect(client.get(ConfigMap, { namespace: 'shop', name: 'answer' })).rejects.toThrow('not found')
    expect((await named('shell', 'x')).stderr).toContain('leave CRs out')
    // Neither the kubeconfig that the flag names nor that of the project is there for a program.
    const teller = await named('teller')
    expect(teller.stderr).toContain('exit code 3')
    expect(teller.stderr).not.toMatch(/hush|apiVersion|token/)
  })
})
