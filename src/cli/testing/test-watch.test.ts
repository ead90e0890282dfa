import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const shell = fileURLToPath(new URL('../../../test/contract/shell-operator.sh', import.meta.url))

const wish = (size: number): string =>
  `apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata:\n    labels: {answer: wanted}\n    name: wish\n    namespace: shop\n    uid: w\n  data:\n    size: "${size}"\nmetadata: {resourceVersion: "1"}\n`

describe('muster test --watch', () => {
  it('runs again when a file changes, and exits with the code of its last round', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-watch-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const input = path.join(folder, 'tests/one/input-dir/namespaces/shop/core/configmaps.yaml')
    mkdirSync(path.dirname(input), { recursive: true })
    writeFileSync(input, wish(3))
    const expected = '{apiVersion: v1, kind: ConfigMap, metadata: {name: answer, namespace: shop}, data: {amount: "3"}}'
    writeFileSync(
      path.join(folder, 'tests/one/test.yaml'),
      `binaryName: ${shell}\ntestName: t\ndescription: d\nexpect:\n  requests: false\n  objects:\n  - ${expected}\n`,
    )

    const words = [
      '--conditions=muster-source',
      main,
      'test',
      'tests',
      '--watch',
      '--allow-network',
      '--output-dir',
      'out',
    ]
    const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    /** What a round says in its last line; then it waits. */
    const round = async (): Promise<string> => {
      let said = ''
      for (let next = await lines.next(); !next.done; next = await lines.next()) {
        if (/ passed, /.test(next.value)) said = next.value.replace(/ in .*/, '')
        if (next.value.includes('waiting for changes')) return said
      }
      return 'it ended'
    }

    expect(await round()).toBe('1 passed, 0 failed')
    writeFileSync(input, wish(4))
    expect(await round()).toBe('0 passed, 1 failed')
    writeFileSync(input, wish(3))
    expect(await round()).toBe('1 passed, 0 failed')
    writeFileSync(path.join(folder, 'tests/one/test.yaml'), 'nonsense')
    expect(await round()).toBe('0 passed, 1 failed')
    child.kill('SIGINT')
    expect(await ended).toBe(2)
  })
})
