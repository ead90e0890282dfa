/**
 * Conversion of HorizontalPodAutoscalers between v1 and v2. v1 has one metric, CPU utilization; everything else of v2
 * is kept in annotations (the behavior with Go's field names), so that nothing is lost when a v1 client writes an
 * object back.
 */
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { structForm } from '../codec/struct-form.ts'

const annotations = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
} as const

/** Converts to `autoscaling/v1` or `autoscaling/v2`. */
export function convertAutoscaler(object: UntypedObject, apiVersion: string): UntypedObject {
  if (object.apiVersion === apiVersion) return object
  const source = object as unknown as JsonObject
  const converted = apiVersion === 'autoscaling/v1' ? toFirst(source) : toSecond(source)
  return structForm({ ...(converted as unknown as UntypedObject), apiVersion, kind: object.kind })
}

function memberOf(object: Json | undefined, name: string): JsonObject {
  const member = isJsonObject(object) ? object[name] : undefined
  return isJsonObject(member) ? member : {}
}

function listOf(object: Json | undefined, name: string): readonly JsonObject[] {
  const member = isJsonObject(object) ? object[name] : undefined
  return isJsonArray(member) ? member.filter((item) => isJsonObject(item)) : []
}

/** Drops undefined members. */
function compact(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

function isCpuUse({ type, resource }: JsonObject): boolean {
  return type === 'Resource' && isJsonObject(resource) && resource['name'] === 'cpu'
}

function targetUse(metric: JsonObject): Json | undefined {
  return isCpuUse(metric) ? memberOf(metric['resource'], 'target')['averageUtilization'] : undefined
}

function toFirst(object: JsonObject): JsonObject {
  const metadata = memberOf(object, 'metadata')
  const { metrics: _metrics, behavior, ...spec } = memberOf(object, 'spec')
  const { currentMetrics: _current, conditions: _conditions, ...status } = memberOf(object, 'status')
  const metrics = listOf(object['spec'], 'metrics')
  const current = listOf(object['status'], 'currentMetrics')
  const conditions = listOf(object['status'], 'conditions')
  const others = metrics.filter((metric) => targetUse(metric) === undefined).map(firstMetric)
  const use = metrics.map(targetUse).find((value) => value !== undefined)
  const now = current
    .filter((metric) => isCpuUse(metric))
    .map(({ resource }) => memberOf(resource, 'current')['averageUtilization'])
    .findLast((value) => value !== undefined)
  const kept = {
    ...withoutKept(memberOf(metadata, 'annotations')),
    ...(others.length > 0 && { [annotations.metrics]: stringifyJson(others) }),
    ...(current.length > 0 && { [annotations.currentMetrics]: stringifyJson(current.map(firstStatus)) }),
    ...(isJsonObject(behavior) && { [annotations.behavior]: stringifyJson(goBehavior(behavior)) }),
    ...(conditions.length > 0 && { [annotations.conditions]: stringifyJson(conditions.map(firstCondition)) }),
  }
  return {
    ...object,
    metadata: withAnnotations(metadata, kept),
    spec: compact({ ...spec, targetCPUUtilizationPercentage: use }),
    status: compact({ ...status, currentCPUUtilizationPercentage: now }),
  }
}

function withoutKept(all: JsonObject): JsonObject {
  const names = new Set<string>(Object.values(annotations))
  return Object.fromEntries(Object.entries(all).filter(([name]) => !names.has(name)))
}

function withAnnotations(metadata: JsonObject, kept: JsonObject): JsonObject {
  const { annotations: _old, ...rest } = metadata
  return Object.keys(kept).length > 0 ? { ...rest, annotations: kept } : rest
}

function firstMetric(metric: JsonObject): JsonObject {
  const name = sourceOf(metric)
  const source = memberOf(metric, name)
  const target = memberOf(source, 'target')
  const { name: metricName, selector } = memberOf(source, 'metric')
  const { averageUtilization, averageValue, value } = target
  const shapes: Readonly<Record<string, () => JsonObject>> = {
    object: () => ({
      target: referenceOf(source),
      metricName,
      targetValue: value ?? '0',
      selector,
      averageValue,
    }),
    pods: () => ({ metricName, targetAverageValue: averageValue ?? '0', selector }),
    resource: () => ({
      name: source['name'],
      targetAverageUtilization: averageUtilization,
      targetAverageValue: averageValue,
    }),
    containerResource: () => ({
      name: source['name'],
      targetAverageUtilization: averageUtilization,
      targetAverageValue: averageValue,
      container: source['container'],
    }),
    external: () => ({ metricName, metricSelector: selector, targetValue: value, targetAverageValue: averageValue }),
  }
  return { type: metric['type']!, [name]: compact(shapes[name]!()) }
}

function firstStatus(metric: JsonObject): JsonObject {
  const name = sourceOf(metric)
  const source = memberOf(metric, name)
  const { name: metricName, selector } = memberOf(source, 'metric')
  const { averageUtilization, averageValue, value } = memberOf(source, 'current')
  const shapes: Readonly<Record<string, () => JsonObject>> = {
    object: () => ({ target: referenceOf(source), metricName, currentValue: value ?? '0', selector, averageValue }),
    pods: () => ({ metricName, currentAverageValue: averageValue ?? '0', selector }),
    resource: () => ({
      name: source['name'],
      currentAverageUtilization: averageUtilization,
      currentAverageValue: averageValue ?? '0',
    }),
    containerResource: () => ({
      name: source['name'],
      currentAverageUtilization: averageUtilization,
      currentAverageValue: averageValue ?? '0',
      container: source['container'],
    }),
    external: () => ({
      metricName,
      metricSelector: selector,
      currentValue: value ?? '0',
      currentAverageValue: averageValue,
    }),
  }
  return { type: metric['type']!, [name]: compact(shapes[name]!()) }
}

const sources = ['object', 'pods', 'resource', 'containerResource', 'external']

function sourceOf(metric: JsonObject): string {
  return sources.find((name) => isJsonObject(metric[name])) ?? 'resource'
}

function referenceOf(source: JsonObject): JsonObject {
  const { kind, name, apiVersion } = memberOf(source, 'describedObject')
  return compact({ kind, name, apiVersion })
}

function firstCondition({
  type,
  status,
  lastTransitionTime,
  reason,
  message,
  observedGeneration,
}: JsonObject): JsonObject {
  return compact({ type, status, lastTransitionTime, reason, message, observedGeneration })
}

/** With the field names of the Go struct, which this annotation has always used. */
function goBehavior({ scaleUp, scaleDown }: JsonObject): JsonObject {
  const rules = (own: Json | undefined): Json =>
    isJsonObject(own)
      ? {
          StabilizationWindowSeconds: own['stabilizationWindowSeconds'] ?? null,
          SelectPolicy: own['selectPolicy'] ?? null,
          Policies: listOf(own, 'policies').map(({ type, value, periodSeconds }) => ({
            Type: type,
            Value: value,
            PeriodSeconds: periodSeconds,
          })),
          Tolerance: own['tolerance'] ?? null,
        }
      : null
  return { ScaleUp: rules(scaleUp), ScaleDown: rules(scaleDown) }
}

function toSecond(object: JsonObject): JsonObject {
  const metadata = memberOf(object, 'metadata')
  const kept = memberOf(metadata, 'annotations')
  const { targetCPUUtilizationPercentage: use, ...spec } = memberOf(object, 'spec')
  const { currentCPUUtilizationPercentage: now, ...status } = memberOf(object, 'status')
  const others = readKept(kept, annotations.metrics)
  const current = readKept(kept, annotations.currentMetrics)
  const conditions = readKept(kept, annotations.conditions)
  const behavior = readBehavior(kept)
  const byUse = (averageUtilization: Json): JsonObject => ({
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
  })
  const metrics = [...(others ?? []).map(secondMetric), ...(use === undefined ? [] : [byUse(use)])]
  const currentMetrics =
    current?.map(secondStatus) ??
    (now === undefined
      ? undefined
      : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: now } } }])
  return {
    ...object,
    metadata: withAnnotations(metadata, withoutKept(kept)),
    spec: compact({ ...spec, metrics: metrics.length > 0 ? metrics : [byUse(defaultUse)], behavior }),
    status: compact({ ...status, currentMetrics, conditions }),
  }
}

/** In percent of the requested CPU. */
export const defaultUse = 80

/** Whether a v1 object has further metrics in its annotation. */
export function hasOtherMetrics({ metadata }: UntypedObject): boolean {
  return (readKept(metadata.annotations ?? {}, annotations.metrics) ?? []).length > 0
}

function readKept(kept: JsonObject, name: string): readonly JsonObject[] | undefined {
  const value = readJson(kept[name])
  return isJsonArray(value) ? value.filter((item) => isJsonObject(item)) : undefined
}

function readJson(text: Json | undefined): Json | undefined {
  try {
    return typeof text === 'string' ? parseJson(text) : undefined
  } catch {
    // Clients can write the annotation: an invalid one is ignored.
    return undefined
  }
}

function secondMetric(metric: JsonObject): JsonObject {
  const name = sourceOf(metric)
  const own = memberOf(metric, name)
  const use = own['targetAverageUtilization']
  const each = own['targetAverageValue']
  const shapes: Readonly<Record<string, () => JsonObject>> = {
    object: () => {
      const isEach = own['averageValue'] !== undefined
      const value = isEach && own['targetValue'] === '0' ? undefined : own['targetValue']
      const target = compact({ type: isEach ? 'AverageValue' : 'Value', value, averageValue: own['averageValue'] })
      return { describedObject: memberOf(own, 'target'), metric: metricOf(own), target }
    },
    pods: () => ({ metric: metricOf(own), target: compact({ type: 'AverageValue', averageValue: each }) }),
    resource: () => ({ name: own['name'], target: useOf(use, each) }),
    containerResource: () => ({ name: own['name'], container: own['container'], target: useOf(use, each) }),
    external: () => ({
      metric: metricOf(own),
      target: compact({
        type: own['targetValue'] === undefined ? 'AverageValue' : 'Value',
        value: own['targetValue'],
        averageValue: each,
      }),
    }),
  }
  return compact({ type: metric['type'], [name]: compact(shapes[name]!()) })
}

function useOf(averageUtilization: Json | undefined, averageValue: Json | undefined): JsonObject {
  const type = averageUtilization === undefined ? 'AverageValue' : 'Utilization'
  return compact({ type, averageValue, averageUtilization })
}

function metricOf(own: JsonObject): JsonObject {
  return compact({ name: own['metricName'], selector: own['selector'] ?? own['metricSelector'] })
}

function secondStatus(metric: JsonObject): JsonObject {
  const name = sourceOf(metric)
  const own = memberOf(metric, name)
  const current = compact({
    value: own['currentValue'],
    averageValue: own['currentAverageValue'] ?? own['averageValue'],
    averageUtilization: own['currentAverageUtilization'],
  })
  const shapes: Readonly<Record<string, () => JsonObject>> = {
    object: () => ({ describedObject: memberOf(own, 'target'), metric: metricOf(own), current }),
    pods: () => ({ metric: metricOf(own), current }),
    resource: () => ({ name: own['name'], current }),
    containerResource: () => ({ name: own['name'], container: own['container'], current }),
    external: () => ({ metric: metricOf(own), current }),
  }
  return compact({ type: metric['type'], [name]: compact(shapes[name]!()) })
}

function readBehavior(kept: JsonObject): JsonObject | undefined {
  const read = readJson(kept[annotations.behavior])
  if (!isJsonObject(read)) return undefined
  const rules = (own: Json | undefined): JsonObject | undefined =>
    isJsonObject(own)
      ? compact({
          stabilizationWindowSeconds: own['StabilizationWindowSeconds'] ?? undefined,
          selectPolicy: own['SelectPolicy'] ?? undefined,
          policies: listOf(own, 'Policies').map(({ Type: type, Value: value, PeriodSeconds: periodSeconds }) => ({
            type,
            value,
            periodSeconds,
          })),
          tolerance: own['Tolerance'] ?? undefined,
        })
      : undefined
  const behavior = compact({ scaleUp: rules(read['ScaleUp']), scaleDown: rules(read['ScaleDown']) })
  return Object.keys(behavior).length > 0 ? behavior : undefined
}
