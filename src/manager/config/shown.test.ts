import { describe, expect, it } from 'vitest'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { defineConfig } from '../../operator/config.ts'
import { defineController } from '../../operator/controller.ts'
import { list, map, object, optional, string } from '../../operator/kind/field.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { readConfiguration } from './configuration.ts'
import { environmentLayer } from './override.ts'
import { shownSettings, shownYaml } from './shown.ts'

const operator = defineOperator({
  name: 'my-login',
  controllers: [defineController({ for: ConfigMap })],
  config: defineConfig({
    users: list(object({ name: string(), pin: string({ format: 'password' }) }), { default: [] }),
    keys: map(string({ format: 'password' }), { default: {} }),
    tokens: optional(list(string())),
    secretName: optional(string()),
  }),
})
const text = `operators:
  my-login:
    config:
      users: [{ name: ann, pin: hunter2 }]
      keys: { a: hunter2 }
      tokens: [hunter2]
      secretName: store
  other: { config: { deep: [{ apiKey: hunter2, plain: hunter2 }] } }
  tool: { program: { command: ./tool, env: { A: hunter2 } } }
`
const configuration = readConfiguration(
  [
    { source: 'muster.yaml', value: readYaml(text), text },
    environmentLayer({ MUSTER__operators__my_login__paused: 'true' }),
  ],
  [operator],
)

describe('a displayed configuration', () => {
  it('shows no secret, and everything else', () => {
    const shown = shownSettings(configuration, [operator])
    expect(JSON.stringify(shown)).not.toContain('hunter2')
    const valueOf = (path: string): unknown => shown.find((one) => one.path.join('.') === path)?.value
    expect(valueOf('operators.my-login.config.users')).toEqual([{ name: 'ann', pin: '(secret)' }])
    expect(valueOf('operators.my-login.config.keys.a')).toBe('(secret)')
    expect(valueOf('operators.my-login.config.tokens')).toBe('(secret)')
    expect(valueOf('operators.my-login.config.secretName')).toBe('store')
    expect(valueOf('operators.tool.program.env.A')).toBe('(secret)')
    expect(valueOf('operators.tool.program.command')).toBe('./tool')
    expect(valueOf('operators.other.config.deep')).toBe('(secret)')
  })

  it('is complete: its YAML, parsed again, is the same', () => {
    const plain = readConfiguration([
      { source: 'x', value: readYaml('concurrency: 3\nclusters: { b: { context: yes-man } }') },
    ])
    const yaml = shownYaml(shownSettings(plain, []))
    expect(readConfiguration([{ source: 'y', value: readYaml(yaml) }]).settings).toEqual(plain.settings)
  })

  it('accepts an operator name in the environment as shells allow it', () => {
    expect(configuration.settings.operators['my-login']!.paused).toBe(true)
    expect(configuration.sources.get('operators.my-login.paused')).toContain('MUSTER__operators__my_login__paused')
  })
})
