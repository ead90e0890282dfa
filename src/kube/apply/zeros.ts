/**
 * The zero values of built-in kinds. On the server an object of such a kind is a Go struct, and some of its fields always
 * exist: a Deployment has a `status`, though an empty one, without any client adding it. So no manager owns `.status` as
 * such; in a custom object, the first writer does.
 *
 * Most of it follows from the schema: a struct inside of a struct has the default `{}`, and a field without omitempty is
 * required. The table below has the exceptions.
 */
import type { Json } from '../json.ts'
import type { Definitions, Schema } from '../schema.ts'

type Zeros = Readonly<Record<string, Json | undefined>>

/** Fields that exist although not required, and (`undefined`) required ones that do not. */
const untold: Readonly<Record<string, Zeros>> = {
  'admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec': { validationActions: undefined },
  'apiextensions.v1.CustomResourceDefinitionStatus': { conditions: null, storedVersions: null },
  'apps.v1.ControllerRevision': { revision: 0 },
  'apps.v1.StatefulSetSpec': { serviceName: '' },
  'apps.v1.StatefulSetStatus': { availableReplicas: 0 },
  'autoscaling.v2.HorizontalPodAutoscalerStatus': { currentMetrics: null },
  'core.v1.Event': {
    eventTime: null,
    firstTimestamp: null,
    lastTimestamp: null,
    reportingComponent: '',
    reportingInstance: '',
  },
  'discovery.v1.EndpointSlice': { endpoints: null, ports: null },
  'events.v1.Event': { deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null },
  'flowcontrol.v1.FlowSchemaSpec': { matchingPrecedence: 0 },
  'networking.v1.IPAddressSpec': { parentRef: undefined },
  'policy.v1.PodDisruptionBudgetStatus': {
    currentHealthy: 0,
    desiredHealthy: 0,
    disruptionsAllowed: 0,
    expectedPods: 0,
  },
  'rbac.v1.ClusterRole': { rules: null },
  'rbac.v1.Role': { rules: null },
  'rbac.v1.RoleRef': { apiGroup: '' },
  'resource.v1.DeviceClaim': { requests: null },
  'scheduling.v1.PriorityClass': { value: 0 },
}

/** The fields that always exist, with their zero values. */
export function zerosOf(struct: Schema, name: string | undefined): ReadonlyMap<string, Json> {
  const told = Object.entries(struct.properties ?? {}).map(
    ([field, place]) => [field, zeroOf(place, struct.required?.includes(field) === true)] as const,
  )
  const all = new Map<string, Json | undefined>([...told, ...Object.entries(untold[shortName(name)] ?? {})])
  for (const [field, zero] of all) if (zero === undefined) all.delete(field)
  return all as Map<string, Json>
}

function zeroOf(place: Schema, required: boolean): Json | undefined {
  if (typeof place.default === 'object' && place.default !== null) return {}
  if (!required) return undefined
  // A scalar without omitempty has a default; without one it is required of the writer only. Bytes are a list.
  const isScalar = !['object', 'array', undefined].includes(place.type) && place.format !== 'byte'
  return place.default ?? (isScalar ? undefined : null)
}

/** `io.k8s.api.core.v1.Event` → `core.v1.Event`. */
function shortName(name = ''): string {
  return name.split('.').slice(-3).join('.')
}

/** The name of a schema among the definitions. */
export function zeroFieldName(schema: Schema, definitions: Definitions): string | undefined {
  return Object.keys(definitions).find((name) => definitions[name] === schema)
}
