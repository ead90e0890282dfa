/** The order of objects inside a phase: kinds as Helm installs them, then names. It is total: the order of the input is gone. */
import { stringifyJson } from '../../kube/json.ts'
import { kindOf } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { installOrder } from '../../render/chart/manifests.ts'

const ranks: ReadonlyMap<string, number> = new Map(installOrder.map((kind, rank) => [kind, rank]))

/** Kinds that others need come first; custom kinds come last, by name. */
export function compareInstallOrder(one: KubeObject, other: KubeObject): number {
  return (
    rankOf(one) - rankOf(other) ||
    compareText(one.kind, other.kind) ||
    compareText(one.apiVersion, other.apiVersion) ||
    compareText(one.metadata.namespace, other.metadata.namespace) ||
    compareText(one.metadata.name, other.metadata.name) ||
    compareText(stringifyJson(one), stringifyJson(other))
  )
}

function rankOf(object: KubeObject): number {
  const { group, kind } = kindOf(object)
  return (isBuiltInGroup(group) ? ranks.get(kind) : undefined) ?? installOrder.length
}

/** A custom kind may have the name of a built-in one: `Service` of serving.knative.dev. */
export function isBuiltInGroup(group: string): boolean {
  return !group.includes('.') || group.endsWith('.k8s.io')
}

function compareText(one = '', other = ''): number {
  return one === other ? 0 : one < other ? -1 : 1
}
