/**
 * v1beta1 and v1beta2 of AppWrappers, in both directions without loss. What v1beta1 has no field for is kept in its
 * `spec.v1beta2`; what v1beta2 lacks has optional fields there.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Conversion } from '../../operator/kind/conversion.ts'
import type { Kind } from '../../operator/kind/kind.ts'
import { AppWrapper } from './appwrapper.ts'
import { statusFromV1beta1, statusToV1beta1 } from './status-conversion.ts'
import { itemFields, v1beta1 } from './v1beta1.ts'

export const appWrapperConversion: Conversion = {
  // Its objects are converted as JSON: parts of any shape are asked for, too.
  for: AppWrapper as Kind,
  version: v1beta1.version,
  toStored: (object) => converted(object, specToStored, statusFromV1beta1),
  fromStored: (object) => converted(object, specFromStored, statusToV1beta1),
}

function converted(
  object: UntypedObject,
  spec: (spec: JsonObject) => JsonObject,
  status: (status: JsonObject) => JsonObject,
): JsonObject {
  const { apiVersion: _, kind: __, metadata: ___, ...rest } = asJson(object)
  return {
    ...rest,
    ...(isJsonObject(rest['spec']) && { spec: spec(rest['spec']) }),
    ...(isJsonObject(rest['status']) && { status: status(rest['status']) }),
  }
}

/** Of the same name and form in both versions. */
const schedulingFields = ['minAvailable', 'nodeSelector', 'requeuing', 'dispatchDuration'] as const
/** At the top of v1beta1, by their names in `scheduling`. */
const topFields = {
  priority: 'priority',
  prioritySlope: 'priorityslope',
  service: 'service',
  selector: 'selector',
} as const
/** Fields that only v1beta2 has. */
const specFields = ['suspend', 'managedBy'] as const
const componentFields = ['podSets', 'podSetInfos', 'annotations'] as const

function specToStored(spec: JsonObject): JsonObject {
  const kept = objectAt(spec, 'v1beta2')
  const keptComponents = isJsonArray(kept?.['components']) ? kept['components'] : []
  const scheduling = {
    ...Object.fromEntries(
      Object.entries(topFields).flatMap(([name, own]) => (spec[own] === undefined ? [] : [[name, spec[own]]])),
    ),
    ...picked(objectAt(spec, 'schedulingSpec'), schedulingFields),
  }
  const resources = objectAt(spec, 'resources')
  const items = isJsonArray(resources?.['GenericItems']) ? resources['GenericItems'] : []
  const lifeCycle = kept ? kept['lifeCycle'] : 'Requeue'
  return {
    ...(resources && { components: items.map((item, index) => componentOf(item, keptComponents[index])) }),
    ...(Object.keys(scheduling).length > 0 && { scheduling }),
    ...picked(kept, specFields),
    ...(lifeCycle !== undefined && { lifeCycle }),
  }
}

function componentOf(item: Json, kept: Json | undefined): JsonObject {
  if (!isJsonObject(item)) return {}
  const rest = picked(item, itemFields)
  return {
    ...renamed(item, 'generictemplate', 'template'),
    ...(isJsonObject(kept) && picked(kept, componentFields)),
    ...renamed(item, 'custompodresources', 'pods'),
    ...renamed(item, 'completionstatus', 'completionStatus'),
    ...(Object.keys(rest).length > 0 && { item: rest }),
  }
}

function specFromStored(spec: JsonObject): JsonObject {
  const scheduling = objectAt(spec, 'scheduling')
  const components = isJsonArray(spec['components']) ? spec['components'] : undefined
  const schedulingSpec = picked(scheduling, schedulingFields)
  const top = Object.entries(topFields).flatMap(([name, own]) =>
    scheduling?.[name] === undefined ? [] : [[own, scheduling[name]] as const],
  )
  const kept = keptOf(spec, components ?? [])
  return {
    ...Object.fromEntries(top),
    ...(components && { resources: { GenericItems: components.map(itemOf) } }),
    ...(Object.keys(schedulingSpec).length > 0 && { schedulingSpec }),
    ...(kept && { v1beta2: kept }),
  }
}

function itemOf(component: Json): JsonObject {
  if (!isJsonObject(component)) return {}
  return {
    ...picked(objectAt(component, 'item'), itemFields),
    ...renamed(component, 'template', 'generictemplate'),
    ...renamed(component, 'pods', 'custompodresources'),
    ...renamed(component, 'completionStatus', 'completionstatus'),
  }
}

/** What v1beta1 has no field for; undefined for an object that was written as v1beta1. */
function keptOf(spec: JsonObject, components: readonly Json[]): JsonObject | undefined {
  const own = picked(spec, specFields)
  const parts = components.map((component) => (isJsonObject(component) ? picked(component, componentFields) : {}))
  const hasParts = parts.some((part) => Object.keys(part).length > 0)
  const { lifeCycle } = spec
  if (lifeCycle === 'Requeue' && !hasParts && Object.keys(own).length === 0) return undefined
  return { ...own, ...(lifeCycle !== undefined && { lifeCycle }), ...(hasParts && { components: parts }) }
}

function picked(object: JsonObject | undefined, names: readonly string[]): JsonObject {
  if (!object) return {}
  return Object.fromEntries(names.flatMap((name) => (object[name] === undefined ? [] : [[name, object[name]]])))
}

function renamed(object: JsonObject, from: string, to: string): JsonObject {
  return object[from] === undefined ? {} : { [to]: object[from] }
}

function objectAt(object: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = object?.[name]
  return isJsonObject(value) ? value : undefined
}
