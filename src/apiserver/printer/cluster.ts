/** Columns of nodes, namespaces, configuration and events. */
import { type Condition, findCondition, isConditionTrue } from '../../kube/meta/condition.ts'
import { formatTime, parseTime } from '../../kube/units/duration.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import type { APIService } from '../../kube/types/apiregistration/v1.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import type {
  ComponentStatus,
  ConfigMap,
  Event,
  Namespace,
  Node,
  ResourceQuota,
  Secret,
  ServiceAccount,
} from '../../kube/types/core/v1.ts'
import type { RuntimeClass } from '../../kube/types/node/v1.ts'
import type { PriorityClass } from '../../kube/types/scheduling/v1.ts'
import type { StorageVersionMigration } from '../../kube/types/storagemigration/v1.ts'
import { age, type Columns, joined, nameCell, orNone, since } from './cells.ts'

export const nodes: Columns<Node> = {
  Name: nameCell,
  Status({ spec, status }) {
    const ready = status?.conditions?.findLast(({ type }) => type === 'Ready')
    const state = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown'
    return spec?.unschedulable ? `${state},SchedulingDisabled` : state
  },
  Roles({ metadata }) {
    const prefix = 'node-role.kubernetes.io/'
    const roles = Object.entries(metadata?.labels ?? {}).map(([key, value]) =>
      key.startsWith(prefix) ? key.slice(prefix.length) : key === 'kubernetes.io/role' ? value : '',
    )
    return orNone([...new Set(roles.filter((role) => role !== ''))].toSorted().join(','))
  },
  Age: age,
  Version: ({ status }) => status?.nodeInfo?.kubeletVersion ?? '',
  'Internal-IP': (node) => addressOf(node, 'InternalIP'),
  'External-IP': (node) => addressOf(node, 'ExternalIP'),
  'OS-Image': ({ status }) => status?.nodeInfo?.osImage || '<unknown>',
  'Kernel-Version'({ status }) {
    const { kernelVersion, architecture } = status?.nodeInfo ?? {}
    return `${kernelVersion || '<unknown>'}${architecture ? ` (${architecture})` : ''}`
  },
  'Container-Runtime': ({ status }) => status?.nodeInfo?.containerRuntimeVersion || '<unknown>',
}

function addressOf({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>'
}

export const namespaces: Columns<Namespace> = {
  Name: nameCell,
  Status: ({ status }) => status?.phase ?? '',
  Age: age,
}

export const configMaps: Columns<ConfigMap> = {
  Name: nameCell,
  Data: ({ data, binaryData }) => size(data) + size(binaryData),
  Age: age,
}

export const secrets: Columns<Secret> = {
  Name: nameCell,
  Type: ({ type }) => type ?? '',
  Data: ({ data }) => size(data),
  Age: age,
}

function size(members: object | undefined): number {
  return Object.keys(members ?? {}).length
}

export const serviceAccounts: Columns<ServiceAccount> = { Name: nameCell, Age: age }

export const resourceQuotas: Columns<ResourceQuota> = {
  Name: nameCell,
  Request: (quota) => usage(quota, (resource) => !isLimit(resource)),
  Limit: (quota) => usage(quota, isLimit),
  Age: age,
}

function usage({ status }: ResourceQuota, counts: (resource: string) => boolean): string {
  return Object.entries(status?.hard ?? {})
    .filter(([resource]) => counts(resource))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([resource, hard]) => `${resource}: ${status?.used?.[resource] ?? '0'}/${hard}`)
    .join(', ')
}

function isLimit(resource: string): boolean {
  return resource.startsWith('limits.')
}

/** Events of both groups: rows are printed from the stored, core version. */
export const events: Columns<Event> = {
  'Last Seen'(event, { now }) {
    const { series, lastTimestamp } = event
    if (series) return since(series.lastObservedTime, now)
    return lastTimestamp ? since(lastTimestamp, now) : firstSeen(event, now)
  },
  Type: ({ type }) => type ?? '',
  Reason: ({ reason }) => reason ?? '',
  Object({ involvedObject }) {
    const { kind = '', name: named } = involvedObject ?? {}
    return named ? `${kind.toLowerCase()}/${named}` : kind.toLowerCase()
  },
  Subobject: ({ involvedObject }) => involvedObject?.fieldPath ?? '',
  Source({ source, reportingComponent, reportingInstance }) {
    const component = source?.component || (reportingComponent ?? '')
    const instance = source?.host || (reportingInstance ?? '')
    return instance === '' ? component : `${component}, ${instance}`
  },
  Message: ({ message }) => (message ?? '').trim(),
  'First Seen': (event, { now }) => firstSeen(event, now),
  Count: ({ series, count }) => (series ? (series.count ?? 0) : count || 1),
  Name: nameCell,
}

function firstSeen({ firstTimestamp, eventTime }: Event, now: number): string {
  return since(firstTimestamp ?? eventTime, now)
}

export const componentStatuses: Columns<ComponentStatus> = {
  Name: nameCell,
  Status(component) {
    const { status } = health(component)
    return status === undefined ? 'Unknown' : status === 'True' ? 'Healthy' : 'Unhealthy'
  },
  Message: (component) => health(component).message ?? '',
  Error: (component) => health(component).error ?? '',
}

function health({ conditions }: ComponentStatus): { status?: string; message?: string; error?: string } {
  return conditions?.find(({ type }) => type === 'Healthy') ?? {}
}

export const leaseColumns: Columns<Lease> = {
  Name: nameCell,
  Holder: ({ spec }) => spec?.holderIdentity ?? '',
  Age: age,
}

export const priorityClasses: Columns<PriorityClass> = {
  Name: nameCell,
  Value: ({ value }) => value ?? 0,
  'Global-Default': ({ globalDefault }) => globalDefault ?? false,
  Age: age,
  PreemptionPolicy: ({ preemptionPolicy }) => preemptionPolicy ?? '',
}

export const runtimeClasses: Columns<RuntimeClass> = {
  Name: nameCell,
  Handler: ({ handler }) => handler ?? '',
  Age: age,
}

export const customResourceDefinitions: Columns<CustomResourceDefinition> = {
  Name: nameCell,
  Scope: ({ spec }) => spec?.scope ?? '',
  Versions: ({ spec }) =>
    (spec?.versions ?? [])
      .filter(({ served }) => served)
      .map((version) => (version.storage ? `${version.name}(storage)` : version.name))
      .toSorted()
      .join(','),
  'Created At': createdAt,
  Group: ({ spec }) => spec?.group ?? '',
  Kind: ({ spec }) => spec?.names?.kind ?? '',
  ShortNames: ({ spec }) => joined(spec?.names?.shortNames),
  Established: ({ status }) => isConditionTrue(status?.conditions as readonly Condition[] | undefined, 'Established'),
}

export const apiServices: Columns<APIService> = {
  Name: nameCell,
  Service: ({ spec }) => (spec?.service ? `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}` : 'Local'),
  Available({ status }) {
    const available = findCondition(status?.conditions as readonly Condition[] | undefined, 'Available')
    if (!available) return 'Unknown'
    return available.status === 'True' || !available.reason
      ? available.status
      : `${available.status} (${available.reason})`
  },
  Age: age,
}

export const storageVersionMigrations: Columns<StorageVersionMigration> = {
  Name: nameCell,
  Resource({ spec }) {
    const { group, resource = '' } = spec?.resource ?? {}
    return group ? `${resource}.${group}` : resource
  },
  Status: ({ status }) =>
    status?.conditions?.findLast((one) => one.status === 'True' && /^(?:Running|Failed|Succeeded)$/.test(one.type))
      ?.type ?? 'Unknown',
}

/** The default columns. */
export const plainColumns: Columns<{ readonly metadata?: { readonly name?: string; creationTimestamp?: string } }> = {
  Name: nameCell,
  'Created At': createdAt,
}

function createdAt({ metadata }: { readonly metadata?: { readonly creationTimestamp?: string } }): string {
  const created = parseTime(metadata?.creationTimestamp ?? '')
  return created === undefined ? '0001-01-01T00:00:00Z' : formatTime(created)
}
