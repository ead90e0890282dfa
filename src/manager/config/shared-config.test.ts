import { describe, expect, it } from 'vitest'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { defineConfig } from '../../operator/config.ts'
import { integer, optional, string } from '../../operator/kind/field.ts'
import { changesBetween } from './changes.ts'
import { readConfiguration } from './configuration.ts'

const size = integer({ minimum: 1, default: 3 })
const operators = [
  {
    name: 'queue',
    config: defineConfig({ size, order: string({ default: 'age' }), key: optional(string({ format: 'password' })) }),
  },
  { name: 'scaler', config: defineConfig({ size }) },
]

const read = (text: string) => readConfiguration([{ source: 'muster.yaml', value: readYaml(text), text }], operators)

describe('an operator with configFrom', () => {
  it('has the settings of the other operator that it declares, with their places and its own defaults', () => {
    const { settings, sources } = read(`
operators:
  queue: { config: { size: 5, order: name, key: x } }
  scaler: { configFrom: queue }
`)
    expect(settings.operators['scaler']).toMatchObject({ configFrom: 'queue' })
    expect(settings.operators['scaler']!.config).toEqual({ size: 5 })
    expect(sources.get('operators.scaler.config.size')).toBe(sources.get('operators.queue.config.size'))
    expect(
      read('operators: { queue: {}, scaler: { configFrom: queue } }').settings.operators['scaler']!.config,
    ).toEqual({
      size: 3,
    })
  })

  it('is concerned by changes of settings that it declares only', () => {
    const of = (config: string) => read(`operators: { queue: { config: ${config} }, scaler: { configFrom: queue } }`)
    const changed = (after: string) =>
      new Set(changesBetween(of('{ size: 5 }'), of(after)).map(({ operator }) => operator))
    expect(changed('{ size: 6 }')).toEqual(new Set(['queue', 'scaler']))
    expect(changed('{ size: 5, order: name }')).toEqual(new Set(['queue']))
  })

  it('shares the settings of an operator that does not run, and they are checked', () => {
    const text = (value: number) =>
      `operators: { queue: { enabled: false, config: { size: ${value} } }, scaler: { configFrom: queue } }`
    expect(read(text(4)).settings.operators['scaler']!.config).toEqual({ size: 4 })
    expect(() => read(text(0))).toThrow('config.size')
  })

  it.each([
    ['scaler: { configFrom: scaler }', 'it must name another operator'],
    ['scaler: { configFrom: qeue }', 'there is no section of an operator "qeue"'],
    ['queue: {}, scaler: { configFrom: queue, config: { size: 4 } }', 'set either config or configFrom, not both'],
    ['queue: {}, scaler: { configFrom: queue }, other: { configFrom: scaler }', 'scaler has none of its own'],
    ['queue: {}, other: { program: { command: x }, configFrom: queue }', 'a program has no settings of its own here'],
  ])('refuses %s', (sections, problem) => {
    expect(() => read(`operators: { ${sections} }`)).toThrow(problem)
  })
})
