/** The label and field selectors of a list, watch or deletecollection. */
import type { BuiltinResource } from '../../kube/builtin.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { matchFields, matchLabels, parseFields, parseLabels } from '../../kube/selector/selector.ts'
import type { ServedResource } from './catalog.ts'
import { badRequest } from '../errors/status-error.ts'
import { fieldSelectorProblem, labelSelectorProblem } from '../errors/selector-error.ts'
import { oneAtVersion } from './versions.ts'

interface QuerySelection {
  /** There is no selector: all objects match. */
  readonly isEverything: boolean
  matches(object: UntypedObject): boolean
}

/** The fields of field selectors in kube-apiserver, by kind. Other kinds have only name and namespace. */
const builtinFields: Readonly<Record<string, readonly string[]>> = {
  'v1/Pod': [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'spec.host',
    'status.phase',
    'status.podIP',
    'status.podIPs',
    'status.nominatedNodeName',
  ],
  'v1/Node': ['spec.unschedulable'],
  'v1/ReplicationController': ['status.replicas'],
  'v1/Event': [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  'events.k8s.io/v1/Event': [
    'regarding.kind',
    'regarding.namespace',
    'regarding.name',
    'regarding.uid',
    'regarding.apiVersion',
    'regarding.resourceVersion',
    'regarding.fieldPath',
    'reason',
    'reportingController',
    'type',
  ],
  'v1/Namespace': ['status.phase'],
  'v1/Secret': ['type'],
  'v1/Service': ['spec.clusterIP', 'spec.type'],
  'batch/v1/Job': ['status.successful'],
  'certificates.k8s.io/v1/CertificateSigningRequest': ['spec.signerName'],
  'certificates.k8s.io/v1/ClusterTrustBundle': ['spec.signerName'],
  'certificates.k8s.io/v1/PodCertificateRequest': ['spec.signerName', 'spec.podName', 'spec.nodeName'],
  'resource.k8s.io/v1/ResourceSlice': ['spec.nodeName', 'spec.driver', 'spec.pool.name'],
}

/** Kinds with their own list of selectable fields, which lacks the namespace. */
const withoutNamespace: ReadonlySet<string> = new Set([
  'namespaces',
  'nodes',
  'certificatesigningrequests.certificates.k8s.io',
  'clustertrustbundles.certificates.k8s.io',
  'podcertificaterequests.certificates.k8s.io',
  'resourceslices.resource.k8s.io',
])

export function selectableFieldsOf(resource: BuiltinResource): readonly string[] {
  return builtinFields[`${formatApiVersion(resource)}/${resource.kind}`] ?? []
}

export function selectionOf(served: ServedResource, query: URLSearchParams): QuerySelection {
  const labels = readSelector(query.get('labelSelector') ?? '', parseLabels, labelSelectorProblem)
  const fields = readSelector(query.get('fieldSelector') ?? '', parseFields, fieldSelectorProblem)
  for (const { path } of fields) checkField(served, path)
  return {
    isEverything: labels.length === 0 && fields.length === 0,
    matches: (object) =>
      matchLabels(labels, object.metadata.labels) &&
      (fields.length === 0 || matchFields(fields, asSelected(served, object))),
  }
}

/** Field selectors apply to the requested version; built-in kinds may be stored at another one. */
function asSelected(served: ServedResource, object: UntypedObject): UntypedObject {
  if (served.custom || !served.convert) return object
  const shown = oneAtVersion(object, served)
  // Only webhook conversion is asynchronous, and only custom kinds have it.
  return shown instanceof Promise ? object : shown
}

function readSelector<T>(text: string, read: (text: string) => T, problem: (text: string) => string): T {
  try {
    return read(text)
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidSelector)) throw badRequest(problem(text))
    throw error
  }
}

function checkField({ selectable, custom, table }: ServedResource, path: string): void {
  if (path === 'metadata.name' || selectable.includes(path)) return
  if (path === 'metadata.namespace' && !withoutNamespace.has(table)) return
  if (table === 'jobs.batch') throw badRequest(`field label ${JSON.stringify(path)} not supported for Job`)
  if (table === 'resourceslices.resource.k8s.io') {
    throw badRequest(`field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${path}`)
  }
  throw badRequest(
    selectable.length > 0 || custom
      ? `field label not supported: ${path}`
      : `"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
  )
}
