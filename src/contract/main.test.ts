import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const source = fileURLToPath(new URL('..', import.meta.url))

/** An operator that tries to call somebody, as a program. */
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
      reconcile: async ({ cr }) => ({
        objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: cr.metadata.name + '-reached', namespace: cr.metadata.namespace }, data: { who: await reach() } }],
      }),
    }),
  ],
})
await operatorMain(operator)
`

describe('an operator as a program of its own', () => {
  it('keeps the contract, and has no network when it runs on a directory', async () => {
    let calls = 0
    const server = createServer((_, response) => {
      calls++
      response.end('somebody')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-main-'))
    onTestFinished(() => {
      server.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const file = path.join(folder, 'main.ts')
    writeFileSync(file, program((server.address() as { readonly port: number }).port))
    mkdirSync(path.join(folder, 'in'))
    writeFileSync(
      path.join(folder, 'in/a.yaml'),
      'apiVersion: test.example.com/v1\nkind: Call\nmetadata: {name: a, namespace: default, uid: u}\nspec: {}\n',
    )
    const out = path.join(folder, 'out')
    const words = ['apply-configuration', '--input-dir', path.join(folder, 'in'), '--output-dir', out]
    const child = spawn(process.execPath, ['--conditions=muster-source', file, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    expect({ code, printed }).toEqual({ code: 0, printed: '' })
    expect(existsSync(path.join(out, 'controller-results.yaml'))).toBe(true)
    const order = readFileSync(path.join(out, 'Configuration/order.yaml'), 'utf8')
    const [, body = ''] = /file: (Apply\S+a-reached\.yaml)/.exec(order) ?? []
    expect(readFileSync(path.join(out, 'Configuration', body), 'utf8')).toContain('who: nobody')
    expect(calls).toBe(0)
  })
})
