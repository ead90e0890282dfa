import { describe, expect, it } from 'vitest'
import { App } from '../../../test/app-operator.ts'
import { defineConversion } from '../../operator/kind/conversion.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineWebhook } from '../../operator/kind/webhook.ts'
import type { JsonObject } from '../../kube/json.ts'
import { readConfiguration } from '../config/configuration.ts'
import { managerRules } from './manager-role.ts'

const small = { version: 'v1alpha1', spec: { size: integer({ default: 1 }) } } as const
const Gate = defineKind({
  group: 'gates.example.com',
  version: 'v1',
  kind: 'Gate',
  spec: { width: integer({ default: 1 }) },
  otherVersions: [small],
})
const conversion = defineConversion(Gate, small, {
  toStored: ({ spec }) => ({ spec: { width: spec.size ?? 1 } }),
  fromStored: ({ spec }) => ({ spec: { size: spec.width ?? 1 } }),
})
const operatorWith = (more: Partial<Parameters<typeof defineOperator>[0]>): Operator =>
  defineOperator({ name: 'kit', controllers: [defineController({ for: Gate, dependents: [] })], ...more })

/** Without what every manager has. */
const quiet = { watchdog: { blockedFor: '0s' } }

function rules(operator: Operator, value: JsonObject, configMap?: string): readonly string[] {
  const { settings } = readConfiguration([{ source: 'test', value }], [operator])
  return managerRules({ settings, operators: [operator], configMap }).flatMap(({ namespace = '', rules: placed }) =>
    placed.map(
      ({ resources = [], resourceNames = [], verbs }) =>
        `${namespace}/ ${resources.join()} [${resourceNames.join()}]: ${verbs.join()}`,
    ),
  )
}

describe('the role of a manager besides its operators', () => {
  it('is empty where its settings use nothing', () => {
    expect(rules(operatorWith({}), quiet)).toEqual([])
  })

  it('covers its Lease, the quarantine record and its configuration, by name and namespace', () => {
    const value = {
      leaderElection: { leaderElect: true, resourceNamespace: 'ops', resourceName: 'lead' },
      watchdog: { quarantine: 'kept/apart' },
    }
    expect(rules(operatorWith({}), value, 'ops/settings')).toEqual([
      'kept/ configmaps []: create',
      'kept/ configmaps [apart]: get,patch',
      'kept/ events []: create,get,patch',
      'ops/ configmaps []: create',
      'ops/ configmaps [settings]: get,list,watch',
      'ops/ events []: create,get,patch',
      'ops/ leases []: create',
      'ops/ leases [lead]: get,update',
    ])
  })

  it('covers reading its configuration alone, if that was installed with it', () => {
    const { settings } = readConfiguration([{ source: 'test', value: quiet }])
    const [placed] = managerRules({ settings, operators: [], configMap: 'ops/settings', isInstalled: true })
    expect(placed!.rules[0]).toMatchObject({ resourceNames: ['settings'], verbs: ['get', 'list', 'watch'] })
    const creating = placed!.rules.filter(({ verbs }) => verbs.includes('create'))
    expect(creating.map(({ resources }) => resources)).toEqual([['events']])
  })

  it('covers the Secrets with kubeconfigs of other clusters', () => {
    const value = { ...quiet, clusters: { west: { secret: 'fleet/west' }, east: { kubeconfig: '/east' } } }
    expect(rules(operatorWith({}), value)).toEqual(['fleet/ secrets [west]: get'])
  })

  it('covers the Leases of all replicas, with sharding', () => {
    const value = { ...quiet, sharding: { enabled: true, namespace: 'ops' } }
    expect(rules(operatorWith({}), value)).toEqual(['ops/ leases []: create,delete,get,list,update,watch'])
  })

  const certificates = [
    'default/ secrets []: create',
    'default/ secrets [muster-webhook-certificates]: get,list,patch,watch',
  ]
  const validating = defineWebhook({ for: App, validate: () => undefined })
  const mutating = defineWebhook({ for: App, mutate: () => undefined })
  const kept = ': create,delete,get,list,patch,watch'
  const removed = ': delete,list,watch'

  it.each([
    ['validates', { webhooks: [validating] }, ['mutating', removed, 'validating', kept]],
    ['mutates', { webhooks: [mutating] }, ['mutating', kept, 'validating', removed]],
  ] as const)(
    'for an operator that %s covers its own registration, and removing the other',
    (_what, declared, expected) => {
      const [first, may, second, mayToo] = expected
      expect(rules(operatorWith(declared), quiet)).toEqual([
        `/ ${first}webhookconfigurations [muster-kit]${may}`,
        `/ ${second}webhookconfigurations [muster-kit]${mayToo}`,
        ...certificates,
      ])
    },
  )

  it('for an operator with conversions covers the CRDs of those kinds, and no others', () => {
    expect(rules(operatorWith({ conversions: [conversion] }), quiet)).toEqual([
      '/ customresourcedefinitions [gates.gates.example.com]: get,list,patch,watch',
      ...certificates,
    ])
  })

  it.each([
    ['impersonation', 'shop/ serviceaccounts [kit]: impersonate'],
    ['token', 'shop/ serviceaccounts/token [kit]: create'],
  ])('for an operator with its own account covers acting as that account, by %s', (by, rule) => {
    const value = { ...quiet, operators: { kit: { identity: { serviceAccount: 'shop/kit', by } } } }
    expect(rules(operatorWith({}), value)).toEqual([rule])
  })
})
