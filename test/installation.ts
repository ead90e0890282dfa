/** An installation with everything: two operators, one with webhooks, conversions and an account of its own. */
import type { InstallationDescription } from '../src/deploy/description.ts'
import { readConfiguration } from '../src/manager/config/configuration.ts'
import { podLayer } from '../src/manager/config/pod-layer.ts'
import { defineController } from '../src/operator/controller.ts'
import { defineConversion } from '../src/operator/kind/conversion.ts'
import { defineDependent } from '../src/operator/dependent/dependent.ts'
import { integer, string } from '../src/operator/kind/field.ts'
import { defineKind } from '../src/operator/kind/kind.ts'
import { ConfigMap } from '../src/kube/kinds.ts'
import { defineOperator, type Operator } from '../src/operator/operator.ts'
import { defineWebhook } from '../src/operator/kind/webhook.ts'

const old = { version: 'v1alpha1', spec: { size: integer({ default: 1 }) } } as const

const Gate = defineKind({
  group: 'install.example.com',
  version: 'v1',
  kind: 'Gate',
  spec: { width: integer({ default: 1, description: 'In {{ metres }}.' }) },
  otherVersions: [old],
})

const Road = defineKind({
  group: 'install.example.com',
  version: 'v1',
  kind: 'Road',
  spec: { surface: string({ default: 'gravel' }) },
})

export const gates: Operator = defineOperator({
  name: 'gate-keeper',
  controllers: [
    defineController({
      for: Gate,
      dependents: [
        defineDependent({
          for: Gate,
          kind: ConfigMap,
          name: ({ cr }) => `${cr.metadata.name}-made`,
          fromCR: ({ cr }) => ({ data: { width: String(cr.spec.width) } }),
        }),
      ],
    }),
  ],
  webhooks: [defineWebhook({ for: Gate, validate: () => undefined, mutate: () => undefined })],
  conversions: [
    defineConversion(Gate, old, {
      toStored: ({ spec }) => ({ spec: { width: spec.size ?? 1 } }),
      fromStored: ({ spec }) => ({ spec: { size: spec.width ?? 1 } }),
    }),
  ],
})

export const roads: Operator = defineOperator({
  name: 'roads',
  controllers: [
    defineController({
      for: Road,
      dependents: [
        defineDependent({
          for: Road,
          kind: ConfigMap,
          name: ({ cr }) => `${cr.metadata.name}-map`,
          fromCR: ({ cr }) => ({ data: { surface: cr.spec.surface } }),
        }),
      ],
    }),
  ],
})

export function describeInstallation(
  operators: readonly Operator[],
  config: InstallationDescription['config'] = {},
  more: Partial<InstallationDescription> = {},
): InstallationDescription {
  const [name, namespace] = [more.name ?? 'town', more.namespace ?? 'town-system']
  const layers = [podLayer({ namespace, installation: name }), { source: 'muster.yaml', value: config }]
  return {
    name,
    namespace,
    version: '1.2.3',
    description: 'Gates and roads of a town.',
    image: { repository: 'town/operators', tag: '1.2.3' },
    operators,
    config,
    settings: readConfiguration(layers, operators).settings,
    ...more,
  }
}

/** With everything that changes objects. */
export function wholeInstallation(): InstallationDescription {
  return describeInstallation([gates, roads], {
    operators: {
      'gate-keeper': {
        from: './src/gates.ts',
        identity: { serviceAccount: 'town-system/gate-keeper' },
        outside: ['https://maps.example.com:8444'],
      },
      roads: { from: './src/roads.ts', namespaces: ['north', 'south'], gates: { debounce: '1s' } },
    },
    clusters: { west: { secret: 'town-system/west' } },
    tracing: { endpoint: 'http://collector:4318' },
  })
}
