import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'

const source = fileURLToPath(new URL('../..', import.meta.url))
/** Of a process: too little to read a list at once, which takes ten times its length. One is YAML, the other JSON. */
const heapMiB = 64
const listMiB = 14

const operator = `
import { operatorMain } from ${JSON.stringify(path.join(source, 'contract/main.ts'))}
import { ConfigMap, defineController, defineKind, defineOperator, exactly } from ${JSON.stringify(path.join(source, 'operator/index.ts'))}
const Call = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Call', spec: {} })
const limits = { name: 'cm-70000', namespace: 'shop' }
await operatorMain(defineOperator({ name: 'caller', controllers: [defineController({
  for: Call,
  name: 'caller',
  reads: [exactly(ConfigMap, limits)],
  writes: [exactly(ConfigMap, { name: 'result', namespace: 'shop' })],
  reconcile: ({ view }) => ({ objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'result', namespace: 'shop' },
    data: { found: view.get(ConfigMap, limits)?.data?.a ?? 'nothing' } }] }),
})] }))
`

const declared = `applyConfigurationResources:
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: cm-70000}
  - {group: "", version: v1, resource: configmaps, namespace: mart, name: cm-70000}
`

/** Within little memory: it ends well, or it dies. */
async function run(...words: readonly string[]): Promise<{ readonly code: number | null; readonly printed: string }> {
  const limited = [`--max-old-space-size=${heapMiB}`, '--conditions=muster-source', ...words]
  const child = spawn(process.execPath, limited, { stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
  }
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, printed }
}

/** As `kubectl cluster-info dump` writes it, and of small things: text that is long takes little more than itself. */
function writeJson(folder: string): void {
  const item = (name: string, a: string): string =>
    JSON.stringify({ metadata: { name, namespace: 'mart' }, data: { a }, list: [[a], ['"[{'], [{}], [a], [a]] })
  const items = Array.from({ length: 1000 }, (_, at) => `${item(`cm-${at}`, String(at))},\n`).join('')
  const file = path.join(folder, 'mart/configmaps.json')
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, '{\n    "kind": "ConfigMapList",\n    "apiVersion": "v1",\n    "items": [\n')
  for (let at = 0; at * items.length < listMiB * 2 ** 20; at++) {
    appendFileSync(
      file,
      items.replaceAll(/cm-(\d+)/g, (_, name: string) => `cm-${at * 1000 + Number(name)}`),
    )
  }
  appendFileSync(file, `${item('cm-70000', 'there')}\n    ]\n}\n`)
}

function writeGather(folder: string): void {
  const items = Array.from(
    { length: 1000 },
    (_, at) =>
      `- data:\n    a: "${at}"\n    text: ${'words '.repeat(60)}\n  metadata:\n    name: cm-${at}\n    namespace: shop\n`,
  ).join('')
  const file = path.join(folder, 'namespaces/shop/core/configmaps.yaml')
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, '---\napiVersion: v1\nitems:\n')
  for (let at = 0; at * items.length < listMiB * 2 ** 20; at++) {
    appendFileSync(
      file,
      items.replaceAll(/cm-(\d+)/g, (_, name: string) => `cm-${at * 1000 + Number(name)}`),
    )
  }
  const last = '- {data: {a: here}, metadata: {name: cm-70000, namespace: shop}}\n'
  appendFileSync(file, `${last}kind: ConfigMapList\nmetadata: {}\n`)
  writeFileSync(path.join(folder, 'namespaces/shop/core/broken.yaml'), '- {')
  writeFileSync(
    path.join(folder, 'namespaces/shop/call.yaml'),
    'apiVersion: test.example.com/v1\nkind: Call\nmetadata: {name: a, namespace: shop, uid: u}\nspec: {}\n',
  )
}

describe('a directory that is larger than memory', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'muster-large-'))
    writeGather(path.join(folder, 'gather'))
    writeJson(path.join(folder, 'gather'))
    return () => rmSync(folder, { recursive: true, force: true })
  })

  it('is reduced to the declared objects, in YAML or JSON; a malformed file is named', async () => {
    const out = path.join(folder, 'cut')
    onTestFinished(() => rmSync(out, { recursive: true, force: true }))
    writeFileSync(path.join(folder, 'declared.yaml'), declared)
    const words = [
      'from-must-gather',
      path.join(folder, 'gather'),
      '--input-resources',
      path.join(folder, 'declared.yaml'),
    ]
    const { code, printed } = await run(path.join(source, 'cli/main.ts'), 'inputs', ...words, '--output-dir', out)
    expect(printed).toContain('warning: namespaces/shop/core/broken.yaml is left out: ')
    expect({ code, printed }).toMatchObject({ code: 0, printed: expect.stringContaining('2 objects in ') as string })
    for (const namespace of ['shop', 'mart']) {
      const list = readFileSync(path.join(out, `namespaces/${namespace}/core/configmaps.yaml`), 'utf8')
      expect(list.match(/name: cm-\d+$/gm)).toEqual(['name: cm-70000'])
    }
  })

  it('is the input of a run', async () => {
    const out = path.join(folder, 'out')
    writeFileSync(path.join(folder, 'operator.ts'), operator)
    const words = ['--input-dir', path.join(folder, 'gather/namespaces'), '--output-dir', out]
    const { code, printed } = await run(path.join(folder, 'operator.ts'), 'apply-configuration', ...words)
    expect({ code, printed }).toMatchObject({ code: 0 })
    const files = readdirSync(out, { recursive: true, encoding: 'utf8' })
    const body = files.find((name) => name.endsWith('-body-result.yaml')) ?? ''
    expect(readFileSync(path.join(out, body), 'utf8')).toContain('found: here')
  })
})
