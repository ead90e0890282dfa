/**
 * Events. Two groups serve them, with different names for the same fields; an event stored through one can be read
 * through the other. `events.k8s.io` validates more.
 */
import { equalJson, isJsonObject, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Event } from '../../../kube/types/core/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { convertEvent } from '../../catalog/event-version.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
} from '../../../kube/validation/field-error.ts'

const newer = 'events.k8s.io/v1'

const asCore = (object: UntypedObject): Event => convertEvent(object, 'v1') as unknown as Event

const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const event = asCore(object)
  const { namespace } = object.metadata
  const own = event.involvedObject.namespace ?? ''
  const elsewhere = invalidField('involvedObject.namespace', own, 'does not match event.namespace')
  if (!event.eventTime) {
    if (own === '' ? namespace !== 'default' : namespace !== own) yield elsewhere
    return
  }
  if (own === '' && namespace !== 'default' && namespace !== 'kube-system') yield elsewhere
  const reporter = event.reportingComponent ?? ''
  const field = object.apiVersion === newer ? 'reportingController' : 'reportingComponent'
  if (reporter === '') yield requiredField(field)
  yield* eachInvalid(field, reporter, qualifiedNameProblems(reporter))
  for (const [member, limit] of Object.entries(longest)) {
    const text = event[member as keyof typeof longest] ?? ''
    if (text === '' && member !== 'message') yield requiredField(member)
    if (Buffer.byteLength(text) > limit) yield invalidField(member, '', `can have at most ${limit} characters`)
  }
}

/** Validation that only `events.k8s.io` does. */
function* checkNewer(object: UntypedObject): Iterable<Problems[number]> {
  const event = asCore(object)
  yield* checkSeries(event)
  if (!event.eventTime) yield requiredField('eventTime')
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    yield invalidField('type', '', `has invalid value: ${event.type ?? ''}`)
  }
  if (event.firstTimestamp) yield invalidField('firstTimestamp', '', 'needs to be unset')
  if (event.lastTimestamp) yield invalidField('lastTimestamp', '', 'needs to be unset')
  if (event.count) yield invalidField('count', '', 'needs to be unset')
  if (event.source?.component || event.source?.host) yield invalidField('source', '', 'needs to be unset')
}

function* checkSeries({ series }: Event): Iterable<Problems[number]> {
  if (!series) return
  if ((series.count ?? 0) < 2) yield invalidField('series.count', '', 'should be at least 2')
  if (!series.lastObservedTime) yield requiredField('series.lastObservedTime')
}

/** Immutable fields: by their names in `events.k8s.io`, but deprecated ones by their old names. */
const immutableFields: readonly (readonly [member: string, field: string])[] = [
  ['involvedObject', 'involvedObject'],
  ['reason', 'reason'],
  ['message', 'message'],
  ['source', 'source'],
  ['firstTimestamp', 'firstTimestamp'],
  ['lastTimestamp', 'lastTimestamp'],
  ['count', 'count'],
  ['reason', 'reason'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingComponent', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
]

/** Zero values of Go's fields; a string if not listed. */
const zeros: Readonly<Record<string, Json>> = {
  involvedObject: {},
  source: {},
  count: 0,
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  related: null,
}

/** An object with the field names of Go's structs. */
function shown(member: string, sent: Json | undefined): unknown {
  const value = sent ?? zeros[member] ?? (member in zeros ? null : '')
  if (!isJsonObject(value)) return value
  const of = (...names: readonly string[]): readonly unknown[] => names.map((name) => value[name] ?? '')
  if (member === 'source') {
    const [Component, Host] = of('component', 'host')
    return { Component, Host }
  }
  const names = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']
  const [Kind, Namespace, Name, UID, APIVersion, ResourceVersion, FieldPath] = of(...names)
  return { Kind, Namespace, Name, UID, APIVersion, ResourceVersion, FieldPath }
}

function* checkNewerChange(object: UntypedObject, live: UntypedObject): Iterable<Problems[number]> {
  const now = asCore(object) as unknown as Readonly<Record<string, Json>>
  const before = asCore(live) as unknown as Readonly<Record<string, Json>>
  if (!equalJson(now['series'], before['series'])) yield* checkSeries(now as unknown as Event)
  for (const [member, field] of immutableFields) {
    if (!equalJson(now[member], before[member])) yield invalidField(field, shown(member, now[member]), immutableDetail)
  }
}

export const eventRules: KindRules = {
  defaults: structForm,
  validateCreate: (object) => [...check(object), ...(object.apiVersion === newer ? checkNewer(object) : [])],
  validateUpdate: (object, live) => [
    ...check(object),
    ...(object.apiVersion === newer ? checkNewerChange(object, live) : []),
  ],
}
