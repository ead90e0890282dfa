import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memcached } from '../../test/examples.ts'
import { listen } from '../../test/loopback.ts'
import { servedCluster } from '../../test/served-cluster.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { readYaml } from '../kube/yaml/yaml.ts'
import { describeResources, outputResourcesOf } from './declaration/declaration.ts'
import { readOutput } from './directory/output-reader.ts'

const source = fileURLToPath(new URL('..', import.meta.url))
const example = fileURLToPath(new URL('../../examples/memcached/main.ts', import.meta.url))

/** An operator, as a program, that tries to call a server on loopback. */
const program = (port: number): string => `
import { operatorMain } from ${JSON.stringify(path.join(source, 'contract/main.ts'))}
import { ConfigMap, defineController, defineKind, defineOperator } from ${JSON.stringify(path.join(source, 'operator/index.ts'))}
const reach = () => fetch('http://127.0.0.1:${port}/').then((answer) => answer.text(), () => 'nobody')
const Call = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Call', spec: {} })
const operator = defineOperator({
  name: 'caller',
  controllers: [
    defineController({
      for: Call,
      name: 'caller',
      writes: [ConfigMap],
      reconcile: async ({ cr, live }) => {
        const pod = await live.exec({ name: 'a', namespace: 'default' }, ['true']).then(() => 'done', ({ name }) => name)
        const metadata = { name: cr.metadata.name + '-reached', namespace: cr.metadata.namespace }
        return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { who: await reach(), pod } }] }
      },
    }),
  ],
})
await operatorMain(operator)
`

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

async function run(file: string, ...words: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, ['--conditions=muster-source', file, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, stdout, stderr }
}

function temporary(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-main-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The data of the one ConfigMap that it wants. */
function wanted(folder: string): Json | undefined {
  const { content } = readOutput(folder).mutations.find(({ mutation }) => mutation.type.resource === 'configmaps')!
  return isJsonObject(content) ? content['data'] : undefined
}

describe('an operator as a program', () => {
  it('is a file of four lines, like the example', async () => {
    const stdout = describeResources(outputResourcesOf(memcached))
    expect(await run(example, 'output-resources')).toEqual({ code: 0, stdout, stderr: '' })
  })

  it('implements all four commands; it has no network on a directory, and the given cluster in live mode', async () => {
    let calls = 0
    const port = await listen(
      createServer((_, response) => {
        calls++
        response.end('somebody')
      }),
    )
    const folder = temporary()
    const { kubeconfig, asked } = await servedCluster(folder)
    const file = path.join(folder, 'main.ts')
    writeFileSync(file, program(port))
    mkdirSync(path.join(folder, 'in'))
    writeFileSync(
      path.join(folder, 'in/a.yaml'),
      'apiVersion: test.example.com/v1\nkind: Call\nmetadata: {name: a, namespace: default, uid: u}\nspec: {}\n',
    )
    const words = (out: string): readonly string[] => [
      '--input-dir',
      `${folder}/in`,
      '--output-dir',
      `${folder}/${out}`,
    ]

    const [reads, writes, ran] = await Promise.all([
      run(file, 'input-resources'),
      run(file, 'output-resources'),
      run(file, 'apply-configuration', ...words('out')),
    ])
    expect(reads).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('resource: calls') as string })
    expect(writes).toMatchObject({ code: 0, stderr: '' })
    expect(Object.keys(readYaml(writes.stdout) as JsonObject)).toEqual([
      'configurationResources',
      'managementResources',
      'userWorkloadResources',
    ])
    expect(ran).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(readOutput(`${folder}/out`).results).toMatchObject([{ controller: 'caller', status: 'Succeeded' }])
    expect(wanted(`${folder}/out`)).toEqual({ who: 'nobody', pod: 'NeedsCluster' })
    expect({ calls, asked }).toEqual({ calls: 0, asked: [] })

    const live = await run(file, 'apply-configuration-live', ...words('live'), '--kubeconfig', kubeconfig)
    expect(live).toEqual({ code: 0, stdout: '', stderr: '' })
    // There is no such Pod, says the cluster.
    expect(wanted(`${folder}/live`)).toEqual({ who: 'somebody', pod: 'NotFound' })
    expect(asked).toEqual(['GET /api/v1/namespaces/default/pods/a/exec'])
    expect(calls).toBe(1)
  })
})
