/** Every path that a command takes, when it is a wrong one: one line with cause, cure and code, and no more. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runContractCommand } from '../../contract/commands.ts'
import { describeError } from '../../kube/muster-error.ts'
import apiserver from '../cluster/apiserver.ts'
import type { Command } from './command.ts'
import config from '../manager/config.ts'
import generate from '../generate/generate.ts'
import inputs from '../contract/inputs.ts'
import { loadOperator } from '../module/module.ts'
import plan from '../manager/plan.ts'
import scorecard from '../testing/scorecard.ts'
import simulate from '../testing/simulate.ts'
import test from '../testing/test.ts'
import up from '../up/up.ts'

const module = 'examples/memcached/operator.ts'
const tests = 'examples/memcached/tests/creates'
const gather = `${tests}/input-dir`

let folder = ''
const at = (name: string): string => (path.isAbsolute(name) ? name : path.join(folder, name))

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-paths-'))
  writeFileSync(at('plain'), 'kept')
  mkdirSync(at('folder'))
  // A symbolic link to itself: even root can neither read nor write it.
  symlinkSync('circle', at('circle'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** `muster operator MODULE …`, in this process: it would cut off its network. */
const operator: Pick<Command, 'run'> = {
  run: async ({ positionals: [file = '', ...words], out, err }) =>
    await runContractCommand(await loadOperator(file), words, { out, err }),
}

interface Taken {
  readonly command: Pick<Command, 'run'>
  /** What is said, with the path. */
  readonly words: (place: string) => readonly string[]
  readonly flags?: (place: string) => object
}

type Table = Readonly<Record<string, Taken>>

const fresh = (): string => at(`fresh-${Math.trunc(performance.now() * 1000)}`)
const applied = (input: string, output: string, ...more: readonly string[]): readonly string[] => [
  module,
  'apply-configuration',
  '--input-dir',
  input,
  '--output-dir',
  output,
  ...more,
]
const fromGather = (): readonly string[] => ['from-must-gather', gather]

const filesRead: Table = {
  'inputs --operator': {
    command: inputs,
    words: fromGather,
    flags: (place) => ({ operator: place, 'output-dir': fresh() }),
  },
  'inputs --binary': {
    command: inputs,
    words: fromGather,
    flags: (place) => ({ binary: place, 'output-dir': fresh() }),
  },
  'inputs --input-resources': {
    command: inputs,
    words: fromGather,
    flags: (place) => ({ 'input-resources': place, 'output-dir': fresh() }),
  },
  'inputs --kubeconfig': {
    command: inputs,
    words: () => ['from-cluster'],
    flags: (place) => ({ operator: module, kubeconfig: place, 'output-dir': fresh() }),
  },
  'operator MODULE': { command: operator, words: (place) => [place, 'input-resources'] },
  'operator --kubeconfig': {
    command: operator,
    words: (place) => [
      module,
      'apply-configuration-live',
      '--input-dir',
      gather,
      '--output-dir',
      fresh(),
      '--kubeconfig',
      place,
    ],
  },
  'simulate MODULE': { command: simulate, words: (place) => [place] },
  'simulate --sample': { command: simulate, words: () => [module], flags: (sample) => ({ sample }) },
  'simulate --live': { command: simulate, words: () => [module], flags: (live) => ({ live }) },
  'simulate --scenarios': { command: simulate, words: () => [module], flags: (scenarios) => ({ scenarios }) },
  'scorecard --sample': { command: scorecard, words: () => [module], flags: (sample) => ({ sample }) },
  'plan MODULE': { command: plan, words: (place) => [place] },
  'plan --file': { command: plan, words: () => ['memcached'], flags: (file) => ({ file, kubeconfig: at('missing') }) },
  'plan --kubeconfig': { command: plan, words: () => [module], flags: (kubeconfig) => ({ kubeconfig }) },
  'config MODULE': { command: config, words: (place) => [place] },
  'config --file': { command: config, words: () => [], flags: (file) => ({ file }) },
  'config --kubeconfig': {
    command: config,
    words: () => [],
    flags: (kubeconfig) => ({ kubeconfig, configmap: 'default/muster' }),
  },
}

const foldersRead: Table = {
  'inputs from-must-gather DIR': {
    command: inputs,
    words: (place) => ['from-must-gather', place],
    flags: () => ({ operator: module, 'output-dir': fresh() }),
  },
  'operator --input-dir': { command: operator, words: (place) => applied(place, fresh(), '--strict') },
  'test DIR': { command: test, words: (place) => [place], flags: () => ({ 'allow-network': true }) },
  'test DIR --watch': { command: test, words: (place) => [tests, place], flags: () => ({ watch: true }) },
}

const foldersWritten: Table = {
  'inputs --output-dir': {
    command: inputs,
    words: fromGather,
    flags: (place) => ({ operator: module, 'output-dir': place }),
  },
  'operator --output-dir': { command: operator, words: (place) => applied(gather, place) },
  'test --output-dir': {
    command: test,
    words: () => [tests],
    flags: (place) => ({ 'allow-network': true, 'output-dir': place }),
  },
  'apiserver --data': { command: apiserver, words: () => [], flags: (data) => ({ data, port: '0' }) },
  'up --data': { command: up, words: () => [], flags: (data) => ({ data, port: '0' }) },
  'generate rbac --out': { command: generate, words: () => ['rbac', module], flags: (out) => ({ out }) },
}

const filesWritten: Table = {
  'test --junit': {
    command: test,
    words: () => [tests],
    flags: (junit) => ({ 'allow-network': true, junit }),
  },
  'simulate --report': {
    command: simulate,
    words: () => [module],
    flags: (report) => ({ report, bare: true, limit: '1', plans: 'crash' }),
  },
}

/** Nothing can be made in it, not even by whom everything is allowed. */
const process = existsSync('/proc') ? ['/proc/none'] : []

const cases = [
  { table: filesRead, places: ['missing', 'folder', 'plain/below', 'circle'] },
  { table: foldersRead, places: ['missing', 'plain', 'circle'] },
  { table: foldersWritten, places: ['plain', 'plain/below', 'circle', ...process] },
  { table: filesWritten, places: ['folder', 'missing/file', 'plain/below', 'circle', ...process] },
].flatMap(({ table, places }) =>
  Object.entries(table).flatMap(([name, taken]) => places.map((place) => ({ name, place, ...taken }))),
)

describe('an unusable path', () => {
  it.for(cases)('is reported in one line: $name $place', async ({ command, words, flags, place }) => {
    const lines: string[] = []
    const said: string[] = []
    let code = 0
    try {
      code = await command.run({
        positionals: words(at(place)),
        flags: flags?.(at(place)) ?? {},
        out: (line) => void said.push(line),
        err: (line) => void lines.push(line),
        signal: new AbortController().signal,
      })
    } catch (error) {
      code = 1
      lines.push(describeError(error))
    }
    expect(code).not.toBe(0)
    expect(lines).toEqual([expect.stringMatching(/^(?:error: )?MUS\d{4} \w+: [^\n]+ See docs\/errors\.md#mus\d{4}$/)])
    expect(lines[0]).toContain(at(place))
    // The command starts no work whose result it cannot write.
    expect(said).toEqual([])
    expect(readFileSync(at('plain'), 'utf8')).toBe('kept')
  })
})
