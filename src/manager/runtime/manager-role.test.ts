import { describe, expect, it } from 'vitest'
import { App } from '../../../test/kit.ts'
import { defineConversion } from '../../operator/conversion.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/field.ts'
import { defineKind } from '../../operator/kind.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineWebhook } from '../../operator/webhook.ts'
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
  defineOperator({ name: 'kit', controllers: [defineController({ for: Gate, resources: [] })], ...more })

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

describe('what a manager may do beside its operators', () => {
  it('is nothing, where its settings use nothing', () => {
    expect(rules(operatorWith({}), quiet)).toEqual([])
  })

  it('is its Lease, the record of the quarantine and its configuration, by name and where they are', () => {
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
      'ops/ leases []: create',
      'ops/ leases [lead]: get,update',
    ])
  })

  it('is the Leases of all replicas, where they share the work', () => {
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
  ] as const)('of an operator that %s is its own registration, and removing the other', (_what, declared, expected) => {
    const [first, may, second, mayToo] = expected
    expect(rules(operatorWith(declared), quiet)).toEqual([
      `/ ${first}webhookconfigurations [muster-kit]${may}`,
      `/ ${second}webhookconfigurations [muster-kit]${mayToo}`,
      ...certificates,
    ])
  })

  it('of an operator that converts are the CRDs of those kinds, and no others', () => {
    expect(rules(operatorWith({ conversions: [conversion] }), quiet)).toEqual([
      '/ customresourcedefinitions [gates.gates.example.com]: get,list,patch,watch',
      ...certificates,
    ])
  })

  it.each([
    ['impersonation', 'shop/ serviceaccounts [kit]: impersonate'],
    ['token', 'shop/ serviceaccounts/token [kit]: create'],
  ])('of an operator with an account of its own is acting as that account, by %s', (by, rule) => {
    const value = { ...quiet, operators: { kit: { identity: { serviceAccount: 'shop/kit', by } } } }
    expect(rules(operatorWith({}), value)).toEqual([rule])
  })
})
