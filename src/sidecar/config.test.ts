import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Json } from '../kube/json.ts'
import { readYaml } from '../kube/yaml/yaml.ts'
import { loadConfig, readConfig, readListen } from './config.ts'

const whole = {
  tokenFile: 'token',
  stateDirectory: '/var/lib/sidecar',
  probes: { ping: { tcp: '127.0.0.1:6379' } },
  states: [{ state: 'running', probe: 'ping' }],
} as const

describe('a configuration', () => {
  it('has defaults, and paths relative to its file', () => {
    expect(readConfig(whole, '/etc/sidecar')).toEqual({
      listen: { host: '127.0.0.1', port: 8787 },
      tokenFile: '/etc/sidecar/token',
      stateDirectory: '/var/lib/sidecar',
      intervalMs: 2000,
      probes: new Map([['ping', { kind: 'tcp', host: '127.0.0.1', port: 6379, timeoutMs: 1000 }]]),
      states: [{ state: 'running', probe: 'ping' }],
      actions: new Map(),
      concurrency: 1,
      remember: 100,
      onStop: 'wait',
    })
  })

  it('is overridden by flags', () => {
    const { listen, tokenFile, stateDirectory } = readConfig(whole, '/etc', {
      listen: ':9000',
      tokenFile: '/run/token',
      stateDirectory: '/tmp/state',
    })
    expect({ listen, tokenFile, stateDirectory }).toEqual({
      listen: { host: '0.0.0.0', port: 9000 },
      tokenFile: '/run/token',
      stateDirectory: '/tmp/state',
    })
  })

  it('matches the README', async () => {
    const readme = await readFile(new URL('README.md', import.meta.url), 'utf8')
    const [, example = ''] = /```yaml\n(listen[^]*?)```/.exec(readme) ?? []
    const config = readConfig(readYaml(example, { strict: true }), '/')
    expect([...config.actions.keys()]).toContain('backup')
    expect(config.probes.size).toBeGreaterThan(0)
  })

  it('is parsed from YAML and JSON, and an invalid file is named', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-config-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const [yaml, json] = [path.join(folder, 'c.yaml'), path.join(folder, 'c.json')]
    await writeFile(yaml, `{tokenFile: token, stateDirectory: s, probes: {f: {file: phase}}, states: []}`)
    await writeFile(json, JSON.stringify(whole))
    expect((await loadConfig(yaml)).probes.get('f')).toMatchObject({ file: path.join(folder, 'phase') })
    expect((await loadConfig(json)).tokenFile).toBe(path.join(folder, 'token'))
    await writeFile(json, '{"tokenFile": "secret')
    await expect(loadConfig(json)).rejects.toMatchObject({ message: `${json} is not valid JSON.` })
    await expect(loadConfig(path.join(folder, 'no.yaml'))).rejects.toThrow('ENOENT')
  })

  const command = { command: ['true'] }
  it.each<readonly [string, string, Json]>([
    ['tokenFile is missing', 'a token file', { ...whole, tokenFile: undefined as never }],
    ['the configuration has no "port"', 'an unknown member', { ...whole, port: 1 }],
    ['listen must be HOST:PORT', 'an address without a port', { ...whole, listen: 'localhost' }],
    ['interval "often" is no duration', 'a duration', { ...whole, interval: 'often' }],
    ['probes must name at least one', 'no probes', { ...whole, probes: {}, states: [] }],
    ['probes.p must have one of http', 'two kinds', { ...whole, probes: { p: { tcp: 'a:1', file: 'b' } } }],
    ['probes.p has no "status"', 'a member of another kind', { ...whole, probes: { p: { tcp: 'a:1', status: 1 } } }],
    ['probes.p.http must be an http', 'another scheme', { ...whole, probes: { p: { http: 'ftp://x' } } }],
    ['states[0].probe "x" is no probe', 'an unknown probe', { ...whole, states: [{ state: 's', probe: 'x' }] }],
    ['states[0].action "x" is no action', 'an unknown action', { ...whole, states: [{ state: 's', action: 'x' }] }],
    ['states[0] has conditions', 'a condition on nothing', { ...whole, states: [{ state: 's', word: 'up' }] }],
    ['states[0].state is missing', 'a rule for nothing', { ...whole, states: [{}] }],
    ['actions.a.command must be a list', 'a shell string', { ...whole, actions: { a: { command: 'rm -rf x' } } }],
    ['actions.a.command must name', 'an empty command', { ...whole, actions: { a: { command: [] } } }],
    ['actions.a.timeout must be longer', 'no time', { ...whole, actions: { a: { ...command, timeout: '0s' } } }],
    [
      'actions.a.environment.set.X must be',
      'a number',
      { ...whole, actions: { a: { ...command, environment: { set: { X: 1 } } } } },
    ],
    ['concurrency must be', 'no actions at once', { ...whole, concurrency: 0 }],
    ['onStop must be one of wait, leave', 'another end', { ...whole, onStop: 'kill' }],
  ])('is rejected with its path: %s (%s)', (words, _what, value) => {
    expect(() => readConfig(value, '/')).toThrow(words)
  })

  it.each([
    ['[::1]:80', { host: '::1', port: 80 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
  ])('listens on %s', (value, address) => expect(readListen(value)).toEqual(address))
})
