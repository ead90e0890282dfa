/**
 * PodSecurity: the labels of a namespace select the standard that its pods must meet (`enforce`), and the one that
 * clients are warned about (`warn`). Workloads are only warned about: their pods are checked when they are created.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { PodSpec } from '../../../kube/types/core/v1.ts'
import { invalidField as invalidValue } from '../../../kube/validation/field-error.ts'
import { type Cause, forbidden, invalid } from '../../errors/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../cluster/admission.ts'
import { type PodSecurityLevel, violations } from './pod-standards.ts'

const prefix = 'pod-security.kubernetes.io/'
const levels: readonly string[] = ['privileged', 'baseline', 'restricted']

const workloads = new Set([
  'replicationcontrollers',
  'podtemplates',
  'replicasets.apps',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
])

export const podSecurity: AdmissionPlugin = {
  name: 'PodSecurity',
  validate({ storage }, request) {
    const { served, object, operation, namespace, name, warn } = request
    if (!object || operation === 'DELETE') return
    if (served.table === 'namespaces') return checkLabels(request)
    const isPod = served.table === 'pods'
    if (!isPod && !workloads.has(served.table)) return
    const labels = storage.table('namespaces').get(undefined, namespace ?? '')?.metadata.labels
    if (!labels || !isChecked(request)) return
    const spec = isPod ? (object['spec'] as PodSpec | undefined) : templateOf(object)
    if (!spec) return
    const enforced = policyOf(labels, 'enforce')
    const why = isPod ? violations(spec, enforced.level) : ''
    if (why !== '') throw forbidden(served, name, `violates PodSecurity "${enforced.shown}": ${why}`)
    const warned = policyOf(labels, 'warn')
    const remark = violations(spec, warned.level)
    if (remark !== '') warn(`would violate PodSecurity "${warned.shown}": ${remark}`)
  },
}

/** An update of a pod cannot violate a standard that the pod met before, except by an ephemeral container. */
function isChecked({ served, operation, subresource }: AdmissionRequest): boolean {
  if (served.table !== 'pods') return subresource === ''
  return operation === 'CREATE' ? subresource === '' : subresource === 'ephemeralcontainers'
}

interface Template {
  readonly template?: { readonly spec?: PodSpec }
  readonly spec?: { readonly template?: { readonly spec?: PodSpec }; readonly jobTemplate?: Template }
}

function templateOf(object: UntypedObject): PodSpec | undefined {
  const { template, spec } = object as unknown as Template
  return (template ?? spec?.template ?? spec?.jobTemplate?.spec?.template)?.spec
}

/** A label with an invalid level counts as `restricted` for `enforce`. */
function policyOf(
  labels: Readonly<Record<string, string>>,
  mode: 'enforce' | 'warn',
): { readonly level: PodSecurityLevel; readonly shown: string } {
  const given = labels[prefix + mode]
  const level = given === undefined ? 'privileged' : levels.includes(given) ? (given as PodSecurityLevel) : 'restricted'
  return { level, shown: `${level}:${labels[`${prefix}${mode}-version`] ?? 'latest'}` }
}

function checkLabels({ served, subresource, object, oldObject, name }: AdmissionRequest): void {
  if (subresource !== '') return
  const causes = labelCauses(object)
  const before = labelCauses(oldObject)
  if (causes.length === 0 || JSON.stringify(causes) === JSON.stringify(before)) return
  throw invalid(served, name, causes)
}

function labelCauses(namespace: UntypedObject | undefined): readonly Cause[] {
  const labels = namespace?.metadata.labels ?? {}
  const causes: Cause[] = []
  for (const mode of ['enforce', 'audit', 'warn']) {
    const [level, version] = [labels[prefix + mode], labels[`${prefix}${mode}-version`]]
    const at = (key: string): string => `metadata.labels[${prefix}${key}]`
    if (level !== undefined && !levels.includes(level)) {
      causes.push(invalidValue(at(mode), level, `must be one of ${levels.join(', ')}`))
    }
    if (version !== undefined && version !== 'latest' && !/^v1\.(?:0|[1-9]\d*)$/.test(version)) {
      causes.push(invalidValue(at(`${mode}-version`), version, 'must be "latest" or "v1.x"'))
    }
  }
  return causes
}
