/** What a CustomResourceDefinition need not say: names that follow from others, and that nothing is converted. */
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { KindRules } from './kind-rules.ts'

function member(object: JsonObject | undefined, name: string): JsonObject | undefined {
  return object?.[name] as JsonObject | undefined
}

function defaults(object: UntypedObject): UntypedObject {
  const spec = object['spec'] as JsonObject | undefined
  if (!spec) return object
  const names = member(spec, 'names')
  const conversion = member(spec, 'conversion')
  const webhook = member(conversion, 'webhook')
  const client = member(webhook, 'clientConfig')
  const service = member(client, 'service')
  const kind = names?.['kind'] as string | undefined
  return {
    ...object,
    spec: {
      ...spec,
      ...(names &&
        kind && {
          names: {
            ...names,
            singular: names['singular'] || kind.toLowerCase(),
            listKind: names['listKind'] || `${kind}List`,
          },
        }),
      conversion: {
        ...conversion,
        strategy: conversion?.['strategy'] || 'None',
        ...(service && {
          webhook: { ...webhook, clientConfig: { ...client, service: { ...service, port: service['port'] ?? 443 } } },
        }),
      },
    },
  }
}

/** What is wrong with one is told where it is accepted. */
export const customResourceDefinitionRules: KindRules = { defaults }
