import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { managerErrors } from '../errors.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { defineConfig } from '../../operator/config.ts'
import { defineController } from '../../operator/controller.ts'
import { integer, list, object, oneOf, optional, string } from '../../operator/kind/field.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { readConfiguration } from './configuration.ts'
import type { Layer } from './layer.ts'
import { gatesOf } from './options-of.ts'
import { defaultText } from './default-text.ts'
import { textLayer } from './open-configuration.ts'
import { environmentLayer, flagLayer } from './override.ts'
import { problemLine } from './problem.ts'

const operator = defineOperator({
  name: 'cache',
  controllers: [defineController({ for: ConfigMap })],
  config: defineConfig({
    size: integer({ minimum: 1, default: 3 }),
    modes: optional(list(oneOf(['swift', 'safe']))),
  }),
})

const file = (text: string): Layer => ({ source: 'muster.yaml', value: readYaml(text), text })

function refusal(...layers: readonly Layer[]): string {
  try {
    readConfiguration(layers, [operator])
    return 'accepted'
  } catch (error) {
    if (!isMusterError(error, managerErrors.InvalidConfiguration)) throw error
    return error.message
  }
}

describe('a configuration', () => {
  it('is complete without any input', () => {
    const { settings, sources } = readConfiguration([], [operator])
    expect(settings.leaderElection.leaseDuration).toBe('15s')
    expect(settings.operators['cache']).toMatchObject({ enabled: true, isolation: 'inline', config: {} })
    expect(gatesOf(settings.operators['cache']!.gates)).toMatchObject({ debounce: { quietMs: 0, maxMs: 1000 } })
    expect(sources.size).toBe(0)
  })

  it('uses the last layer, value by value, and records the source of each', () => {
    const { settings, sources } = readConfiguration(
      [
        file('metrics: { port: 1 }\nconcurrency: 4\noperators:\n  cache:\n    gates: { burst: 7 }\n'),
        environmentLayer({ MUSTER__metrics__port: '2', MUSTER__clientConnection__kubeconfig: '12', OTHER: 'x' }),
        flagLayer(['operators.cache.paused=true', 'operators.cache.namespaces=one, two']),
      ],
      [operator],
    )
    expect(settings).toMatchObject({ metrics: { port: 2 }, concurrency: 4, clientConnection: { kubeconfig: '12' } })
    expect(settings.operators['cache']).toMatchObject({ paused: true, namespaces: ['one', 'two'], gates: { burst: 7 } })
    expect(Object.fromEntries(sources)).toEqual({
      'metrics.port': 'environment variable MUSTER__metrics__port',
      concurrency: 'muster.yaml:2',
      'operators.cache.gates.burst': 'muster.yaml:5',
      'clientConnection.kubeconfig': 'environment variable MUSTER__clientConnection__kubeconfig',
      'operators.cache.paused': 'flag --set operators.cache.paused',
      'operators.cache.namespaces': 'flag --set operators.cache.namespaces',
    })
  })

  it('reports the line of an unknown key, and the most similar known one', () => {
    const text = '# ours\nmetrics:\n  port: 1\nleaderElection:\n  leaderElct: true\n  retryPeriod: soon\n'
    expect(refusal(file(text))).toBe(
      'The configuration is invalid: leaderElection.leaderElct (muster.yaml:5): there is no key "leaderElct" here; did you mean "leaderElect"?',
    )
    expect(refusal(file('concurrency: 0\nmetrics:\n  port: 99999\n'))).toMatch(
      /\n- metrics.port \(muster.yaml:3\): .*less than or equal to 65535\n- concurrency \(muster.yaml:1\): .*greater than or equal to 1/s,
    )
    expect(refusal(file('operators:\n  cache:\n    config:\n      size: 0\n'))).toContain(
      'operators.cache.config.size (muster.yaml:4): Invalid value: 0',
    )
    expect(refusal(file('operators:\n  cache:\n    config: { sise: 1 }\n'))).toContain(
      'operators.cache.config.sise (muster.yaml:3): there is no key "sise" here; did you mean "size"?',
    )
    expect(refusal(file('leaderElection:\n  retryPeriod: soon\n'))).toContain(
      'retryPeriod (muster.yaml:2): "soon" is not a duration such as 500ms, 2s or 1m30s',
    )
    expect(refusal(file('{\n  "metrics": {\n    "port": -1\n  }\n}\n'))).toContain('metrics.port (muster.yaml:3)')
    expect(refusal({ source: 'x', value: ['a'] })).toContain('the whole (x): it must be a map')
  })

  it.each([
    [
      'operators: { cache: { isolation: inlien } }',
      'isolation',
      '"inlien" is none of inline, worker, process',
      'inline',
    ],
    ['logging: { level: wran }', 'logging.level', '"wran" is none of debug, info, warn, error', 'warn'],
    ['logging: { level: INFO }', 'logging.level', '"INFO" is none of debug, info, warn, error', 'info'],
    ['logging: { format: tekst }', 'logging.format', '"tekst" is none of json, text, klog', 'text'],
    ['operators: { cache: { identity: { by: tokens } } }', 'by', '"tokens" is none of impersonation, token', 'token'],
    [
      'operators: { cache: { config: { modes: [swift, sfae] } } }',
      'config.modes.1',
      '"sfae" is none of swift, safe',
      'safe',
    ],
  ])('suggests the most similar valid word: %s', (text, path, problem, nearest) => {
    expect(refusal(file(text))).toContain(`${path} (muster.yaml:1): ${problem}; did you mean "${nearest}"?`)
    expect(refusal(file(text))).not.toContain('?.')
  })

  it('lists the valid words where none is similar, once, for any value', () => {
    const level = (text: string): string => refusal(file(`logging: { level: ${text} }`))
    const none = 'The configuration is invalid: logging.level (muster.yaml:1):'
    expect(level('verbose')).toBe(`${none} "verbose" is none of debug, info, warn, error.`)
    expect(level('3')).toBe(`${none} 3 is none of debug, info, warn, error.`)
    expect(refusal(flagLayer(['logging.level=eror'], [operator]))).toContain('did you mean "error"?')
  })

  it('reports an unknown key even with only comments below it', () => {
    expect(refusal(file('leaderElction:\n  # leaderElect: true\n'))).toContain('did you mean "leaderElection"?')
  })

  it("adds the defaults of an operator's declaration, and treats a section of comments as absent", () => {
    const { settings } = readConfiguration([file('metrics:\n  # port: 1\noperators:\n')], [operator])
    expect(settings.metrics.port).toBe(8080)
    expect(settings.operators['cache']!.config).toEqual({ size: 3 })
  })

  it('requires values of the result, not of each layer; and none of a disabled operator', () => {
    const demanding = defineOperator({
      name: 'demanding',
      controllers: [defineController({ for: ConfigMap })],
      config: defineConfig({ url: string(), depth: integer({ default: 1 }) }),
    })
    const read = (...flags: readonly string[]): unknown =>
      readConfiguration(
        [file('operators: { demanding: { config: { depth: 2 } } }'), flagLayer(flags, [demanding])],
        [demanding],
      ).settings.operators['demanding']!.config
    // Text stays text where the operator wants text.
    expect(read('operators.demanding.config.url=12')).toEqual({ url: '12', depth: 2 })
    expect(() => read()).toThrow('operators.demanding.config.url')
    expect(read('operators.demanding.enabled=false')).toEqual({ depth: 2 })
  })

  it.each([
    ['leaderElection: { renewDeadline: 20s }', 'renewDeadline (muster.yaml:1): 20s must be less than leaseDuration'],
    ['sharding: { retryPeriod: 9s }', 'sharding.retryPeriod (muster.yaml:1): 9s must be well below renewDeadline'],
    ['sharding: { retryPeriod: 0s }', 'must be more than 0'],
    ['sharding: { leaseDuration: 15500ms }', 'whole seconds'],
    ['sharding: { weight: 0 }', 'sharding.weight (muster.yaml:1): 0 must be 0.01 or more'],
    ['sharding: { enabled: true }\nleaderElection: { leaderElect: true }', 'sharding.enabled (muster.yaml:1)'],
    ['operators: { cache: { gates: { debounce: 2s } } }', 'debounceMax'],
    ['operators: { cache: { budgets: { runTimeout: 0s } } }', 'budgets.runTimeout (muster.yaml:1)'],
    ['operators: { Cache: {} }', 'operators.Cache'],
    ['operators: { cache: { clusters: [edge] } }', 'there is no cluster "edge"; there are local'],
    ['clusters: { edge: {} }', 'clusters.edge (muster.yaml:1): set one of kubeconfig'],
    ['clusters: { edge: { secret: a/b, inCluster: true } }', 'set only one of secret and inCluster'],
    ['clusters: { local: { inCluster: true } }', 'configure it there'],
    ['placement: { management: egde }\nclusters: { edge: { context: e } }', 'did you mean "edge"?'],
    ['placement: { hosted: { a: { rules: [{ operator: x/*, cluster: y/z }] } } }', 'a * in the same of them'],
    [
      'placement:\n  hosted:\n    a: { rules: [{ operator: x/*, cluster: h/* }] }\n    b: { rules: [{ operator: x/*, cluster: h/* }] }\n',
      'placement.hosted.b.rules (muster.yaml:4): Name maps a and b',
    ],
    [
      'placement:\n  hosted:\n    a: { rules: [{ operator: one, cluster: h, kinds: [a.b/v1] }, { operator: two, cluster: h, kinds: [a.b/v1] }] }\n',
      'Name map a, rules 1 and 2',
    ],
    ['webhooks: { url: "https://x", service: a/b }', 'not by both'],
    [
      'operators: { a: { from: ./a.ts, program: { command: ./a } } }',
      'operators.a.from (muster.yaml:1): set either from or program',
    ],
    ['operators: { a: { program: { command: ./a }, isolation: worker } }', 'a sandboxed process of its own'],
    ['operators: { a: { program: { command: ./a }, namespaces: [x] } }', 'operators.a.namespaces'],
    ['operators: { a: { program: { command: ./a }, config: { x: 1 } } }', 'program.args or program.env'],
    ['operators: { a: { program: { command: ./a }, gates: { concurrency: 4 } } }', 'does not run concurrently'],
    ['operators: { a: { program: { command: ./a }, budgets: { memory: 2Gi } } }', 'use program.memory'],
    ['operators: { a: { program: { command: ./a }, budgets: { runTimeout: 1m } } }', 'use program.timeout'],
    ['operators: { a: { program: { command: ./a, timeout: 0s } } }', 'operators.a.program.timeout'],
    ['operators: { a: { program: { command: ./a, env: { "A-B": x } } } }', 'operators.a.program.env.A-B'],
    ['operators: { a: { program: { command: ./a, live: true } } }', 'set identity.serviceAccount'],
    ['operators: { a: { program: { command: ./a }, outside: ["https://x"] } }', 'operators.a.outside'],
    [
      'operators: { a: { program: { command: ./a, live: true }, identity: { serviceAccount: a/b }, outside: ["https://u@x"] } }',
      'operators.a.outside.0 (muster.yaml:1): "https://u@x" is not a valid origin',
    ],
    ['operators: { a: { program: { args: [x] } } }', 'operators.a.program.command'],
    ['operators: { a: { program: { command: a/b } } }', 'is not a file that begins with ./, ../ or /'],
  ])('detects contradictions between settings: %s', (text, problem) => {
    expect(refusal(file(text))).toContain(problem)
  })

  it('names invalid overrides, all of them', () => {
    const text = refusal(
      flagLayer(['metrics.prt=1', 'metrics', 'metrics.port=many']),
      environmentLayer({ MUSTER__nothing: '1' }),
    )
    expect(text).toContain('metrics.prt (flag --set metrics.prt): there is no key "prt" there; did you mean "port"?')
    expect(text).toContain('write path=value')
    expect(text).toContain('metrics.port (flag --set metrics.port)')
    expect(text).toContain('nothing (environment variable MUSTER__nothing)')
  })

  it('never repeats secrets, nor values that may contain them', () => {
    const user = object({ name: string(), password: optional(string({ maxLength: 3 })) })
    const login = defineOperator({
      name: 'login',
      controllers: [defineController({ for: ConfigMap })],
      config: defineConfig({
        pin: optional(string({ format: 'password', pattern: '^[0-9]+$' })),
        users: optional(list(user, { sharedBy: 'value' })),
      }),
    })
    const told = (config: string): string => {
      try {
        readConfiguration([file(`operators: { login: { config: ${config} } }`)], [login])
        return 'accepted'
      } catch (error) {
        return (error as Error).message
      }
    }
    const twice = '{ name: a, password: hunter2 }'
    for (const config of ['{ pin: hunter2 }', `{ users: [${twice}] }`, `{ users: [${twice}, ${twice}] }`]) {
      expect(told(config)).toContain('may be secret')
      expect(told(config)).not.toContain('hunter2')
    }
    // Nor what is in the environment of a program, or was meant to be.
    for (const program of ['{ command: ./a, env: hunter2 }', '{ command: ./a, env: { A: [hunter2] } }', 'hunter2']) {
      const refused = refusal(file(`operators: { a: { program: ${program} } }`))
      expect([refused.includes('operators.a.program'), refused.includes('hunter2')]).toEqual([true, false])
    }
    // A value whose place is wrong is not repeated either.
    expect(told('{ users: hunter2 }')).not.toContain('hunter2')
    expect(told('{ pn: hunter2 }')).toContain('did you mean "pin"?')
  })
})

describe('a text', { timeout: 60_000 }, () => {
  it('that is corrupted is rejected with a message, and never crashes', async () => {
    const lines = defaultText([operator]).split('\n')
    const spoilt = fc.array(
      fc.record({
        at: fc.nat(lines.length - 1),
        how: fc.constantFrom('cut', 'twice', 'in', 'out', 'without'),
        with: fc.oneof(
          fc.string({ maxLength: 8 }),
          fc.constantFrom('&a', '*a', '<<: ', '{', ']', '"', '- ', '\t', '!!x '),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    )
    const spoil = (text: readonly string[], { at, how, with: put }: { at: number; how: string; with: string }) => {
      const line = text[at] ?? ''
      const changed = {
        cut: [line.slice(0, put.length)],
        twice: [line, line],
        in: [put + line],
        out: [line.trimStart() + put],
      }
      return [...text.slice(0, at), ...((changed as Record<string, string[]>)[how] ?? []), ...text.slice(at + 1)]
    }
    await fc.assert(
      fc.asyncProperty(spoilt, async (changes) => {
        const text = changes.reduce<readonly string[]>(spoil, lines).join('\n')
        const told = await textLayer('muster.yaml', text)
          .then((layer) => readConfiguration([layer], [operator]))
          .then(
            () => 'muster.yaml is in order',
            (error: unknown) => {
              if (isMusterError(error, managerErrors.InvalidConfiguration, kubeErrors.InvalidYaml)) return error.message
              throw error
            },
          )
        expect(told).toContain('muster.yaml')
      }),
      { numRuns: 200 },
    )
  })
})

describe('a line', () => {
  it('is found by indentation, with any comments and quotes', () => {
    const text = 'a:\n  # b:\n  "b":\n    - 1\n  c: { d: 1 }\nb: 2\n'
    expect(problemLine(text, ['a', 'b'])).toBe(3)
    expect(problemLine(text, ['b'])).toBe(6)
    expect(problemLine(text, ['a', 'c', 'd'])).toBe(5)
    expect(problemLine(text, ['x'])).toBeUndefined()
  })
})
