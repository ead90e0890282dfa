import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../kube/errors.ts'
import type { Json } from '../../kube/json.ts'
import { readYaml } from '../../kube/yaml.ts'
import { defineConfig } from '../../operator/config.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/field.ts'
import { ConfigMap } from '../../operator/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { gatesOf, type Layer, readConfiguration } from './configuration.ts'
import { environmentLayer, flagLayer } from './override.ts'
import { lineOf } from './problem.ts'

const operator = defineOperator({
  name: 'cache',
  controllers: [defineController({ for: ConfigMap })],
  config: defineConfig({ size: integer({ minimum: 1, default: 3 }) }),
})

const file = (text: string): Layer => ({ source: 'muster.yaml', value: readYaml(text), text })

function refusal(...layers: readonly Layer[]): string {
  try {
    readConfiguration(layers, [operator])
    return 'accepted'
  } catch (error) {
    if (!isMusterError(error, 'InvalidConfiguration')) throw error
    return error.message
  }
}

describe('a configuration', () => {
  it('is whole without any input', () => {
    const { settings, sources } = readConfiguration([], [operator])
    expect(settings.leaderElection.leaseDuration).toBe('15s')
    expect(settings.operators['cache']).toMatchObject({ enabled: true, isolation: 'inline', config: {} })
    expect(gatesOf(settings.operators['cache']!.gates)).toMatchObject({ debounce: { quietMs: 0, maxMs: 1000 } })
    expect(sources.size).toBe(0)
  })

  it('takes the later layer, value by value, and knows where each came from', () => {
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
      'metrics.port': 'environment',
      concurrency: 'muster.yaml',
      'operators.cache.gates.burst': 'muster.yaml',
      'clientConnection.kubeconfig': 'environment',
      'operators.cache.paused': 'flags',
      'operators.cache.namespaces': 'flags',
    })
  })

  it('names the line of what it does not know, and what was probably meant', () => {
    const text = '# ours\nmetrics:\n  port: 1\nleaderElection:\n  leaderElct: true\n  retryPeriod: soon\n'
    expect(refusal(file(text))).toBe(
      'The configuration is not in order: leaderElection.leaderElct (muster.yaml:5): there is no key "leaderElct" here; did you mean "leaderElect"?.',
    )
    expect(refusal(file('concurrency: 0\nmetrics:\n  port: 99999\n'))).toMatch(
      /\n- metrics.port \(muster.yaml:3\): .*less than or equal to 65535\n- concurrency \(muster.yaml:1\): .*greater than or equal to 1/s,
    )
    expect(refusal(file('operators:\n  cache:\n    config:\n      size: 0\n'))).toContain(
      'operators.cache.config (muster.yaml:3): size',
    )
    expect(refusal(file('operators:\n  cache:\n    config: { sise: 1 }\n'))).toContain('sise')
    expect(refusal({ source: 'x', value: ['a'] })).toContain('the whole (x): it must be a map')
  })

  it('sees what is wrong only together', () => {
    expect(refusal(file('leaderElection: { renewDeadline: 20s }'))).toContain(
      'renewDeadline (muster.yaml): 20s must be less than leaseDuration, which is 15s',
    )
    expect(refusal(file('operators: { cache: { gates: { debounce: 2s } } }'))).toContain('debounceMax')
  })

  it('names wrong overrides, too', () => {
    expect(() => flagLayer(['metrics.prt=1'])).toThrow(
      '--set metrics.prt: there is no key "prt" there; did you mean "port"?',
    )
    expect(() => environmentLayer({ MUSTER__nothing: '1' })).toThrow('MUSTER__nothing')
    expect(() => flagLayer(['metrics'])).toThrow('write path=value')
    expect(refusal(flagLayer(['metrics.port=many']))).toContain('metrics.port (flags)')
  })

  it('gives an error that names the path for ten thousand bad configurations, and never crashes', () => {
    const good = {
      metrics: { port: 1 },
      leaderElection: { leaderElect: true, retryPeriod: '1s' },
      operators: { cache: { gates: { burst: 3 } } },
    }
    const paths = [
      ['metrics', 'port'],
      ['leaderElection', 'leaderElect'],
      ['leaderElection', 'retryPeriod'],
      ['operators', 'cache', 'gates', 'burst'],
      ['operators', 'cache', 'enabled'],
      ['concurrency'],
      ['paused'],
    ]
    const wrong = fc.oneof(
      fc.constantFrom<Json>(null, -1, 'x y', [], { a: 1 }, 1.5, ['__proto__'], ''),
      fc.string() as fc.Arbitrary<Json>,
      fc.jsonValue() as fc.Arbitrary<Json>,
    )
    const name = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom('__proto__', 'constructor', 'toString', 'metrcs', 'leaderElect'),
    )
    let refused = 0
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.boolean(), name, wrong, (path, isKey, extra, value) => {
        const at = isKey ? [...path.slice(0, -1), extra] : path
        const text = refusal({ source: 'made', value: withAt(good, at, value) })
        // Some of what chance makes is in order; all else names the place, or something above it.
        if (text !== 'accepted') refused++
        expect(text === 'accepted' || text.includes(at[0]!)).toBe(true)
      }),
      { numRuns: 10_000 },
    )
    expect(refused).toBeGreaterThan(9000)
  })
})

describe('a line', () => {
  it('is found by indentation, whatever comments and quotes there are', () => {
    const text = 'a:\n  # b:\n  "b":\n    - 1\n  c: { d: 1 }\nb: 2\n'
    expect(lineOf(text, ['a', 'b'])).toBe(3)
    expect(lineOf(text, ['b'])).toBe(6)
    expect(lineOf(text, ['a', 'c', 'd'])).toBe(5)
    expect(lineOf(text, ['x'])).toBeUndefined()
  })
})

function withAt(value: object, [name = '', ...rest]: readonly string[], leaf: Json): Json {
  const own = new Map(Object.entries(value))
  const below = own.get(name) as object | undefined
  own.set(name, rest.length === 0 ? leaf : withAt(below ?? {}, rest, leaf))
  return Object.fromEntries(own)
}
