import { spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listen } from '../../../test/loopback.ts'
import { servedCluster } from '../../../test/served-cluster.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { programSandboxProblem } from '../../contract/external/program.ts'
import { readOutput } from '../../contract/directory/output-reader.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { namedOperator } from '../module/named-operator.ts'
import command from './operator.ts'
import { runProgramCommand } from './operator-program.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const kit = path.join(root, 'src/operator/index.ts')

/** An operator that writes its configuration into a ConfigMap, and what it can reach. */
const source = (name: string, port = 1): string => `
import { ConfigMap, defineConfig, defineController, defineKind, defineOperator, integer } from ${JSON.stringify(kit)}
const Call = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Call', spec: {} })
const reach = () => fetch('http://127.0.0.1:${port}/').then((answer) => answer.text(), () => 'nobody')
const reconcile = async ({ cr, config, live }) => {
  const pod = await live.exec({ name: 'a', namespace: 'default' }, ['true']).then(() => 'done', ({ name }) => name)
  const metadata = { name: cr.metadata.name + '-told', namespace: cr.metadata.namespace }
  return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size: String(config.size), who: await reach(), pod } }] }
}
export const operator = defineOperator({
  name: '${name}',
  config: defineConfig({ size: integer({ default: 1 }) }),
  controllers: [defineController({ for: Call, name: 'caller', writes: [ConfigMap], reconcile })],
})
`

const call = 'apiVersion: test.example.com/v1\nkind: Call\nmetadata: {name: a, namespace: default, uid: u}\nspec: {}\n'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-named-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, content: string): void {
  const place = path.join(folder, name)
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, content)
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** As a person starts it, in the folder. */
async function muster(...words: readonly string[]): Promise<Ended> {
  const main = path.join(root, 'src/cli/main.ts')
  const child = spawn(process.execPath, ['--conditions=muster-source', main, ...words], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, stdout, stderr }
}

/** The same without a process, for a command that needs none of its own. */
async function here(...positionals: readonly string[]): Promise<Ended> {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await command.run({
    flags: {},
    positionals,
    out: (line) => void out.push(`${line}\n`),
    err: (line) => void err.push(`${line}\n`),
    signal: new AbortController().signal,
  })
  return { code, stdout: out.join(''), stderr: err.join('') }
}

/** The data of the one ConfigMap that is wanted. */
function wanted(output: string): Json | undefined {
  const { mutations } = readOutput(path.join(folder, output))
  const content = mutations.find(({ mutation }) => mutation.type.resource === 'configmaps')?.content
  return isJsonObject(content) ? content['data'] : undefined
}

/** A server on loopback that counts its requests. */
async function countingServer(): Promise<{ readonly port: number; readonly calls: () => number }> {
  let calls = 0
  const server = createServer((_, response) => {
    calls++
    response.end('somebody')
  })
  return { port: await listen(server), calls: () => calls }
}

describe('an operator by its name', () => {
  it('is found in muster.yaml, from any source, with its settings', async () => {
    const elsewhere = path.join(folder, 'elsewhere')
    file('ops/near.ts', source('near'))
    file('elsewhere/far.ts', source('far'))
    file('node_modules/@acme/ops/index.js', source('packed'))
    file(
      'node_modules/@acme/ops/package.json',
      '{"name":"@acme/ops","type":"module","exports":{"./packed":"./index.js"}}',
    )
    file(
      'muster.yaml',
      `operators:
  near: {from: ./ops/near.ts, config: {size: 3}}
  far: {from: ${elsewhere}/far.ts#operator, isolation: worker}
  packed: {from: '@acme/ops/packed', config: {size: 5}, enabled: false}
  shell: {program: {command: ./ops/shell.sh}}
  wrong: {from: ./ops/near.ts}
`,
    )
    const found = async (name: string): Promise<unknown> => {
      const { operator, config } = await (await namedOperator(name, folder))!.load()
      return { name: operator.name, config }
    }
    expect(await found('near')).toEqual({ name: 'near', config: { size: 3 } })
    expect(await found('far')).toEqual({ name: 'far', config: { size: 1 } })
    expect(await found('packed')).toEqual({ name: 'packed', config: { size: 5 } })
    expect((await namedOperator('shell', folder))?.section.program?.command).toBe('./ops/shell.sh')
    await expect(found('wrong')).rejects.toThrow('the operator there is called "near"')
    // A file is never taken for a name, and a folder that is called like an operator not for a file.
    expect(await namedOperator('./near', folder)).toBeUndefined()
    mkdirSync(path.join(folder, 'near'))
    expect((await namedOperator('near', folder))?.name).toBe('near')
  })

  it('is reported when missing, with the most similar one', async () => {
    const why = async (name: string): Promise<string> =>
      await namedOperator(name, folder).then(String, ({ message }: Error) => message.replaceAll(`${folder}/`, ''))
    expect(await why('near')).toMatch(
      /^near: there is no such file, and no muster.yaml here: .*such as src\/operator.ts/,
    )
    file('muster.yaml', 'operators: {near: {from: ./near.ts}, far: {from: ./far.ts}}')
    expect(await why('nera')).toBe('muster.yaml names no operator "nera". Did you mean "near"?')
    expect(await why('something')).toBe('muster.yaml names no operator "something". There are near, far.')
    file('plain', '')
    expect(await why('plain')).toBe('undefined')
    file('muster.yaml', 'operators: {near: {form: ./near.ts}}')
    expect(await why('near')).toContain('form')
  })
})

describe('muster operator', () => {
  it('runs all four commands by name and by file; only the live one has a network', async () => {
    const { port, calls } = await countingServer()
    const { kubeconfig, asked } = await servedCluster(folder)
    file('ops/near.ts', source('near', port))
    file('in/a.yaml', call)
    file('muster.yaml', 'operators: {near: {from: ./ops/near.ts, config: {size: 3}}}')
    const module = path.join(folder, 'ops/near.ts')
    const into = (output: string): readonly string[] => [
      '--input-dir',
      path.join(folder, 'in'),
      '--output-dir',
      path.join(folder, output),
    ]
    const named = await Promise.all([
      muster('operator', 'near', 'input-resources'),
      muster('operator', 'near', 'output-resources'),
      muster('operator', 'near', 'apply-configuration', ...into('named')),
      muster('operator', module, 'apply-configuration', ...into('module')),
    ])
    expect(named.map(({ code, stderr }) => ({ code, stderr }))).toEqual(named.map(() => ({ code: 0, stderr: '' })))
    const [reads, writes] = named
    expect(reads.stdout).toContain('resource: calls')
    expect(writes.stdout).toContain('resource: configmaps')
    expect(await here(module, 'input-resources')).toEqual(reads)
    expect(await here(module, 'output-resources')).toEqual(writes)
    expect(wanted('named')).toEqual({ size: '3', who: 'nobody', pod: 'NeedsCluster' })
    expect(wanted('module')).toEqual({ size: '1', who: 'nobody', pod: 'NeedsCluster' })
    expect({ calls: calls(), asked }).toEqual({ calls: 0, asked: [] })

    const live = (output: string): readonly string[] => [
      'apply-configuration-live',
      ...into(output),
      '--kubeconfig',
      kubeconfig,
    ]
    expect(await muster('operator', 'near', ...live('named-live'))).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await here(module, ...live('module-live'))).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(wanted('named-live')).toEqual({ size: '3', who: 'somebody', pod: 'NotFound' })
    expect(wanted('module-live')).toEqual({ size: '1', who: 'somebody', pod: 'NotFound' })
    expect(asked).toEqual(Array.from({ length: 2 }, () => 'GET /api/v1/namespaces/default/pods/a/exec'))
    expect(calls()).toBe(2)
  })
})

/** A program that writes down its arguments, and tries to reach its cluster and another server through its proxy. */
const reacher = (otherPort: number): string => `
const { request } = require('node:http')
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs')
const words = process.argv.slice(2)
const after = (flag) => words[words.indexOf(flag) + 1]
const ask = (target) => new Promise((resolve) => {
  const proxy = process.env.HTTPS_PROXY
  if (!proxy) return resolve('no way out')
  const { hostname, port } = new URL(proxy)
  request({ hostname, port, method: 'CONNECT', path: target }).on('connect', ({ statusCode }) => resolve(statusCode)).on('error', ({ code }) => resolve(code)).end()
})
const main = async () => {
  if (words[0] !== 'apply-configuration-live' && words[0] !== 'apply-configuration') return console.log(words.join(' '))
  const out = after('--output-dir')
  mkdirSync(out, { recursive: true })
  const cluster = words.includes('--kubeconfig') ? new URL(JSON.parse(readFileSync(after('--kubeconfig'), 'utf8')).clusters[0].cluster.server).host : '-'
  const home = (() => { try { return readFileSync('muster.yaml', 'utf8') } catch (error) { return error.code } })()
  writeFileSync(out + '/seen.json', JSON.stringify({ words, cluster: await ask(cluster), somebody: await ask('127.0.0.1:${otherPort}'), env: process.env.WHO, home }))
  process.exit(words.includes('--strict') ? 1 : 0)
}
main()
`

describe('muster operator, of a program', () => {
  async function ask(
    ...words: readonly string[]
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    const named = (await namedOperator('reacher', folder))!
    const [out, err]: [string[], string[]] = [[], []]
    const code = await runProgramCommand({
      ...named,
      section: { ...named.section, program: named.section.program! },
      words,
      out: (line) => void out.push(line),
      err: (line) => void err.push(line),
      signal: new AbortController().signal,
    })
    return { code, out: out.join('\n'), err: err.join('\n') }
  }
  const seen = (output: string): unknown => JSON.parse(readFileSync(path.join(folder, output, 'seen.json'), 'utf8'))

  it('runs it in its sandbox, with its own environment, and passes on its output and exit code', async () => {
    const { port, calls } = await countingServer()
    const { kubeconfig, url } = await servedCluster(folder)
    file('reacher.cjs', reacher(port))
    file('in/a.yaml', call)
    const program = `{command: ${process.execPath}, args: [${folder}/reacher.cjs], env: {WHO: us}, controllers: [a, -b]}`
    file('muster.yaml', `operators: {reacher: {program: ${program}}}`)

    expect(await ask('input-resources')).toEqual({ code: 0, out: 'input-resources', err: '' })
    expect(await ask('output-resources')).toEqual({ code: 0, out: 'output-resources', err: '' })
    expect(await ask('check-health')).toMatchObject({
      code: 1,
      err: expect.stringContaining('unknown command') as string,
    })

    const at = (output: string): readonly string[] => [
      '--input-dir',
      `${folder}/in`,
      '--output-dir',
      `${folder}/${output}`,
    ]
    expect(await ask('apply-configuration', ...at('out'), '--strict')).toEqual({ code: 1, out: '', err: '' })
    expect(seen('out')).toEqual({
      words: ['apply-configuration', ...at('out'), '--strict', '--controllers', 'a,-b'],
      cluster: 'no way out',
      somebody: 'no way out',
      env: 'us',
      // The configuration is not among the files that it sees.
      home: 'ENOENT',
    })

    const live = await ask('apply-configuration-live', ...at('live'), `--kubeconfig=${kubeconfig}`)
    expect(live).toMatchObject({ code: 0, out: '' })
    expect(live.err).toContain(`reacher tried to reach 127.0.0.1:${port}`)
    expect(seen('live')).toMatchObject({ cluster: 200, somebody: 403 })
    expect(url).toContain('https://127.0.0.1')
    expect(calls()).toBe(0)
  })

  it('does not follow links in its output', async () => {
    if ((await programSandboxProblem(systemClock)) !== undefined) return
    file('victim', 'as it was')
    file('victims/b', 'as it was')
    const script = `#!/bin/sh
out=$5
if [ "$6" = --first ]; then ln -s ${folder}/victim "$out/a"; ln -s ${folder}/victims "$out/d"
else echo hostile >"$out/a"; mkdir "$out/d"; echo hostile >"$out/d/b"; fi`
    file('linker.sh', script)
    chmodSync(path.join(folder, 'linker.sh'), 0o755)
    file('in/a.yaml', call)
    file('muster.yaml', 'operators: {reacher: {program: {command: ./linker.sh}}}')
    for (const time of ['--first', '--second']) {
      const words = ['--input-dir', `${folder}/in`, '--output-dir', `${folder}/linked`, time]
      expect(await ask('apply-configuration', ...words)).toEqual({ code: 0, out: '', err: '' })
    }
    const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8').trim()
    expect(['victim', 'victims/b'].map(read)).toEqual(['as it was', 'as it was'])
    expect(['linked/a', 'linked/d/b'].map(read)).toEqual(['hostile', 'hostile'])
  })

  it('hides kubeconfigs, their files and the folder .muster from it, except the given one', async () => {
    const { kubeconfig } = await servedCluster(folder)
    // Programs of a manager that is root run under another uid.
    chmodSync(folder, 0o755)
    const users = (token: string): unknown => [{ name: 'u', user: { tokenFile: token } }]
    file('edge/kubeconfig', JSON.stringify({ users: users('token') }))
    file('edge/token', 'hush')
    file('own/token', 'given')
    file('.muster/kubeconfig', 'hush')
    file('.muster/data/journal', 'hush')
    const own = path.join(folder, 'own/kubeconfig')
    file('own/kubeconfig', JSON.stringify({ ...JSON.parse(readFileSync(kubeconfig, 'utf8')), users: users('token') }))
    const files = [
      'edge/kubeconfig',
      'edge/token',
      'own/token',
      '.muster/kubeconfig',
      '.muster/data/journal',
      'visible',
    ]
    file('visible', 'visible')
    file(
      'teller.cjs',
      `const { readFileSync } = require('node:fs')
      for (const name of ${JSON.stringify(files)}) try { console.log(name + '=' + readFileSync(name, 'utf8')) } catch (error) { console.log(name + '=' + error.code) }`,
    )
    const program = { command: process.execPath, args: [path.join(folder, 'teller.cjs')], live: true, readable: ['.'] }
    const clusters = { edge: { kubeconfig: path.join(folder, 'edge/kubeconfig') } }
    const identity = { serviceAccount: 'a/b' }
    const clientConnection = { kubeconfig: own }
    file('muster.yaml', JSON.stringify({ clientConnection, clusters, operators: { reacher: { program, identity } } }))
    const answers = async (...words: readonly string[]): Promise<ReadonlyMap<string, string>> =>
      new Map((await ask(...words)).out.split('\n').map((line) => line.split('=', 2) as [string, string]))

    const offline = await answers('input-resources')
    for (const name of files.slice(0, -1))
      expect([name, offline.get(name)]).not.toEqual([name, expect.stringMatching(/hush|given|token/)])
    expect(offline.get('visible')).toBe('visible')
    const live = await answers('apply-configuration-live', '--kubeconfig', own)
    expect(live.get('own/token')).toBe('given')
    // Empty, or out of reach for another uid.
    expect(['', 'EACCES']).toContain(live.get('edge/token'))
  })

  it('is also found by its name on the command line', async () => {
    cpSync(path.join(root, 'test/contract/shell-operator.sh'), path.join(folder, 'reacher.sh'))
    file('muster.yaml', 'operators: {reacher: {program: {command: ./reacher.sh}}}')
    expect(await muster('operator', 'reacher', 'output-resources')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('name: answer') as string,
    })
  })
})
