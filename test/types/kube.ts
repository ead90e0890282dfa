/** What the compiler knows about `@muster-dev/muster/kube`. Compiled by the type check, never run. */
import {
  type Condition,
  findCondition,
  isJsonObject,
  isMusterError,
  type Json,
  type JsonObject,
  type KubeObject,
  labelSelector,
  type LabelSelector,
  type MusterError,
  parseJson,
  parseQuantity,
  type Quantity,
  readYaml,
  type Resource,
} from '@muster-dev/muster/kube'
import type { Pod } from '@muster-dev/muster/kube/types/core/v1'
import { expectTypeOf } from 'vitest'

declare const value: unknown
declare const conditions: readonly Condition[] | undefined

// JSON is read-only, keeps 64-bit integers, and is nothing else before it is checked.
const json = parseJson('{}')
expectTypeOf(json).toEqualTypeOf<Json>()
expectTypeOf<bigint>().toExtend<Json>()
expectTypeOf(readYaml('')).toEqualTypeOf<Json>()
if (isJsonObject(value)) expectTypeOf(value).toEqualTypeOf<JsonObject>()
// @ts-expect-error: JSON has no members before it is checked
void json['spec']
// @ts-expect-error: objects are immutable
if (isJsonObject(json)) json['spec'] = 1

// Types of kinds are objects; every object has metadata, and only its kind says what else.
expectTypeOf<Pod>().toExtend<KubeObject>()
expectTypeOf<Pod['spec']>().not.toBeAny()
// @ts-expect-error: a Resource has a plural
export const unnamed: Resource = { group: '', version: 'v1', kind: 'Pod', namespaced: true }

expectTypeOf(parseQuantity('1Gi')).toEqualTypeOf<Quantity>()
expectTypeOf(labelSelector({ matchLabels: { a: 'b' } })).toEqualTypeOf<LabelSelector>()
// @ts-expect-error: a misspelt member
labelSelector({ matchLabel: { a: 'b' } })
expectTypeOf(findCondition(conditions, 'Ready')).toEqualTypeOf<Condition | undefined>()
if (isMusterError(value)) expectTypeOf(value).toEqualTypeOf<MusterError>()
