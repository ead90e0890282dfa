import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { emptyFolder, muster } from '../../../test/project.ts'

let folder = ''
beforeEach(async () => {
  folder = await emptyFolder()
  await writeFile(
    path.join(folder, 'cache.ts'),
    `import { ConfigMap } from '${import.meta.resolve('../../kube/kinds.ts')}'
import { defineConfig, defineController, defineOperator, integer, string } from '${import.meta.resolve('../../operator/index.ts')}'
export const operator = defineOperator({
  name: 'cache',
  controllers: [defineController({ for: ConfigMap })],
  config: defineConfig({ size: integer({ minimum: 1, default: 3 }), pin: string({ format: 'password', default: '0000' }) }),
})
`,
  )
  await writeFile(
    path.join(folder, 'muster.yaml'),
    'metrics:\n  port: 9\noperators:\n  cache:\n    from: ./cache.ts\n    config: { pin: hunter2 }\n',
  )
})

describe('muster config', { timeout: 60_000 }, () => {
  it('prints every value and its source, without secrets', async () => {
    const words = ['config', '-f', 'muster.yaml', '--set', 'operators.cache.config.size=5', '--set', 'paused=true']
    const { code, stdout: out } = await muster(folder, ...words)
    expect(code).toBe(0)
    const rows = out.split('\n').map((line) => line.split(/ {2,}/))
    expect(rows).toContainEqual(['metrics.port', '9', 'muster.yaml:2'])
    expect(rows).toContainEqual(['health.port', '8081', 'default'])
    expect(rows).toContainEqual(['paused', 'true', 'flag --set paused'])
    expect(rows).toContainEqual(['operators.cache.config.size', '5', 'flag --set operators.cache.config.size'])
    expect(rows).toContainEqual(['operators.cache.config.pin', '"(secret)"', 'muster.yaml:6'])
    expect(out).not.toContain('hunter2')
  })

  it('prints reusable YAML', async () => {
    const { stdout: out } = await muster(folder, 'config', '-f', 'muster.yaml', '-o', 'yaml')
    expect(out).toContain('\n  port: 9  # muster.yaml:2\n')
    await writeFile(path.join(folder, 'again.yaml'), out)
    const again = await muster(folder, 'config', '-f', 'again.yaml', '-o', 'yaml')
    const plain = (text: string): string => text.replaceAll(/ {2}# .*$/gm, '')
    expect(plain(again.stdout)).toBe(plain(out))
  })

  it('prints JSON for programs', async () => {
    const { stdout } = await muster(folder, 'config', '-f', 'muster.yaml', '-o', 'json')
    expect(JSON.parse(stdout)).toMatchObject({ metrics: { port: 9 }, operators: { cache: { config: { size: 3 } } } })
  })

  it('prints the schema, with the sections of operators', async () => {
    const { stdout: out } = await muster(folder, 'config', 'cache.ts', '--schema')
    const section = (JSON.parse(out) as { properties: { operators: { properties: { cache: object } } } }).properties
    expect(section.operators.properties.cache).toMatchObject({
      additionalProperties: false,
      properties: { config: { additionalProperties: false, properties: { size: { minimum: 1, default: 3 } } } },
    })
  })

  it('names every problem, and fails', async () => {
    await writeFile(path.join(folder, 'muster.yaml'), 'metrics:\n  prt: 9\nhealth: { port: -1 }\n')
    const { code, stderr: err } = await muster(folder, 'config', '-f', 'muster.yaml', '--set', 'pausd=true')
    expect(code).toBe(1)
    expect(err).toContain('metrics.prt (muster.yaml:2): there is no key "prt" here; did you mean "port"?')
    expect(err).toContain('pausd (flag --set pausd): there is no key "pausd" there; did you mean "paused"?')
    await writeFile(path.join(folder, 'muster.yaml'), 'operators: { cache: { from: ./cash.ts } }\n')
    const missing = await muster(folder, 'config', '-f', 'muster.yaml')
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain('operators.cache.from:')
  })
})
