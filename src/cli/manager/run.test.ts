import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder, muster } from '../../../test/project.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { Deployment } from '../../kube/kinds.ts'
import { readReport } from '../../manager/observability/report.ts'
import start from '../cluster/start.ts'
import { readManagerFile } from './manager-file.ts'

const example = fileURLToPath(new URL('../../../examples/memcached/operator.ts', import.meta.url))
const memcacheds: Resource = {
  group: 'cache.example.com',
  version: 'v1alpha1',
  kind: 'Memcached',
  plural: 'memcacheds',
  namespaced: true,
}
const cr: UntypedObject = {
  apiVersion: 'cache.example.com/v1alpha1',
  kind: 'Memcached',
  metadata: { name: 'a', namespace: 'default' },
  spec: {},
}

interface Running {
  readonly child: ChildProcess
  /** What it says, as it says it. */
  readonly out: readonly string[]
  readonly err: readonly string[]
  /** The next moment at which what it has said holds. */
  until(holds: (out: readonly string[], err: readonly string[]) => boolean): Promise<void>
  end(signal: NodeJS.Signals): Promise<number | null>
}

function run(cwd: string, ...words: readonly string[]): Running {
  return started(cwd, [example, ...words])
}

function started(cwd: string, words: readonly string[], env: NodeJS.ProcessEnv = process.env): Running {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=muster-source', main, 'run', ...words], { cwd, env })
  const out: string[] = []
  const err: string[] = []
  const waiting = new Set<() => void>()
  const note = (lines: string[]) => (line: string) => {
    lines.push(line)
    for (const look of waiting) look()
  }
  createInterface({ input: child.stdout }).on('line', note(out))
  createInterface({ input: child.stderr }).on('line', note(err))
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    child,
    out,
    err,
    until: (holds) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (holds(out, err)) resolve()
        }
        waiting.add(look)
        child.once('exit', () => reject(new Error(`it has ended: ${[...out, ...err].join('\n')}`)))
        look()
      }),
    async end(signal) {
      const ended = once(child, 'close')
      child.kill(signal)
      return ((await ended) as [number | null])[0]
    },
  }
}

async function client(kubeconfig: string): Promise<Client> {
  const made = await connect({ kubeconfig })
  onTestFinished(() => made.close())
  return made
}

describe('muster run', { timeout: 60_000 }, () => {
  it('starts a cluster with the kinds, runs the operator, and ends on request', async () => {
    const folder = await emptyFolder()
    const running = run(folder, '--embedded', '--data', 'kept')
    await running.until((out) => out.includes('memcached is running'))
    expect(running.out[0]).toMatch(/^an embedded cluster is ready on https:\/\/127\.0\.0\.1:\d+; to use it: export /)
    const person = await client(path.join(folder, '.muster', 'kubeconfig'))
    await person.create(memcacheds, cr)
    for await (const { type } of person.watch(Deployment, { namespace: 'default' })) if (type === 'ADDED') break
    await running.until((_, err) => err.some((line) => line.includes('created deployment')))
    const line = running.err.find((one) => one.includes('created deployment'))
    expect(JSON.parse(line!)).toMatchObject({ operator: 'memcached', key: 'default/a', time: expect.any(String) })
    // What `muster pause`, `muster cost` and the next start need.
    const { url } = readManagerFile(folder)!
    const report = readReport(await (await fetch(`${url}/report`)).json())
    expect(report).toMatchObject({
      configuration: { source: 'ConfigMap default/muster' },
      coLocated: { name: 'an embedded cluster', bytes: expect.any(Number) as number },
    })
    expect(await readFile(path.join(folder, 'kept', 'identity.json'), 'utf8')).toContain(
      `"consolePort":${new URL(url).port}`,
    )
    // Another one on this machine: neither takes a port that the other needs.
    const second = run(await emptyFolder(), '--embedded')
    await second.until((out) => out.includes('memcached is running'))
    expect(await second.end('SIGINT')).toBe(0)
    // As a terminal and bin/muster do together: twice at once is once.
    running.child.kill('SIGINT')
    expect(await running.end('SIGINT')).toBe(0)
  })

  it('waits for missing kinds, reports it, and starts when they are installed', async () => {
    const kubeconfig = path.join(await emptyFolder(), 'kubeconfig')
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
    const folder = await emptyFolder()
    const waiting = run(folder, '--kubeconfig', kubeconfig, '-n', 'default')
    await waiting.until((out) => out.includes('memcached is running in default'))
    expect(waiting.err).toContain(
      'waiting for Memcached (memcacheds.cache.example.com/v1alpha1), which the cluster does not serve: run with --install to install it',
    )
    const installing = run(folder, '--kubeconfig', kubeconfig, '--install', '-n', 'kube-system')
    await installing.until((out) => out.includes('memcached is running in kube-system'))
    const person = await client(kubeconfig)
    await person.create(memcacheds, cr)
    await waiting.until((_, err) => err.some((line) => line.includes('created deployment')))
    expect(installing.err.filter((line) => line.startsWith('waiting for'))).toEqual([])
    expect(await installing.end('SIGTERM')).toBe(0)
    expect(await waiting.end('SIGTERM')).toBe(0)
  })

  it('hosts a package of its configuration, and exports traces', async () => {
    const folder = await emptyFolder()
    const own = path.join(folder, 'node_modules', '@acme', 'cache')
    await mkdir(own, { recursive: true })
    await writeFile(path.join(own, 'package.json'), JSON.stringify({ name: '@acme/cache', exports: './index.mjs' }))
    await writeFile(path.join(own, 'index.mjs'), `export { operator } from ${JSON.stringify(pathToFileURL(example))}\n`)
    await writeFile(
      path.join(folder, 'muster.yaml'),
      'operators: { memcached: { from: "@acme/cache" } }\nhealth: { port: 0 }\nmetrics: { port: 0 }\n',
    )
    let told = ''
    const heard = Promise.withResolvers<void>()
    const collector = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => (told += chunk.toString()))
      request.on('end', () => {
        response.end('{}')
        if (told.includes('apply Deployment')) heard.resolve()
      })
    })
    await new Promise<void>((resolve) => void collector.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void collector.close())
    const { port } = collector.address() as AddressInfo
    const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
    const running = started(folder, ['--file', 'muster.yaml', '--embedded', '--install'], env)
    await running.until((_, err) => err.some((line) => line.includes('Operator started')))
    const person = await client(path.join(folder, '.muster', 'kubeconfig'))
    await person.create(memcacheds, cr)
    await running.until((_, err) => err.some((line) => line.includes('created deployment')))
    const line = running.err.find((one) => one.includes('created deployment'))!
    await heard.promise
    // The log and the trace tell the same story.
    const { reconcileID } = JSON.parse(line) as { readonly reconcileID: string }
    expect(told).toContain(`"traceId":"${reconcileID}"`)
    expect(await running.end('SIGTERM')).toBe(0)
  })

  it('reports errors in one line', async () => {
    const folder = await emptyFolder()
    const failures = await Promise.all([
      muster(folder, 'run'),
      muster(folder, 'run', example, '-n', 'A'),
      muster(folder, 'run', example, '--embedded', '--context', 'a'),
      muster(folder, 'run', example, '--data', 'kept'),
      muster(folder, 'run', example, '--kubeconfig', 'none'),
    ])
    expect(failures.map(({ stderr }) => stderr.split(' ')[0])).toEqual([
      'MUS1503',
      'MUS1503',
      'MUS1503',
      'MUS1503',
      'MUS1101',
    ])
    for (const { code, stdout, stderr } of failures) {
      expect({ code: code > 0, stdout, lines: stderr.trim().split('\n').length }).toEqual({
        code: true,
        stdout: '',
        lines: 1,
      })
    }
  })

  it('has help, like every command', async () => {
    const folder = await emptyFolder()
    const texts = await Promise.all(['run', 'init', 'generate'].map((name) => muster(folder, name, '--help')))
    for (const { code, stdout } of texts) {
      expect(code).toBe(0)
      expect(stdout).toMatch(/^usage: muster \w+ \[?[A-Z]|^usage: muster generate crd MODULE/)
    }
    expect((await muster(folder, 'help', 'node')).stdout).toContain('usage: muster node ARGUMENTS')
    expect((await muster(folder, 'node', '--help')).stdout).toContain('Usage: node')
  })
})
