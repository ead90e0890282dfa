/**
 * What an object of a built-in kind has before anybody wrote to it. On the server such an object is a Go struct, and
 * some of its fields are always there: a Deployment has a `status`, if an empty one, and nobody ever adds it. So
 * nobody comes to own `.status` as such, unlike with a custom object, where the first writer of it does.
 *
 * The schema tells most of it: a struct inside of a struct has the default `{}`, and what is never left out is
 * required. The table below is what it does not tell.
 */
import type { Json } from '../json.ts'
import type { Definitions, Schema } from '../schema.ts'

type Zeros = Readonly<Record<string, Json | undefined>>

/** Fields that are there although not required, and (`undefined`) required ones that are not. */
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

/** The fields that are always there, and what they are until somebody sets them. */
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
  // A scalar that is never left out has a default; without one it is required of the writer only. Bytes are a list.
  const isScalar = !['object', 'array', undefined].includes(place.type) && place.format !== 'byte'
  return place.default ?? (isScalar ? undefined : null)
}

/** `io.k8s.api.core.v1.Event` → `core.v1.Event`. */
function shortName(name = ''): string {
  return name.split('.').slice(-3).join('.')
}

/** The name under which a schema stands among the definitions. */
export function zeroFieldName(schema: Schema, definitions: Definitions): string | undefined {
  return Object.keys(definitions).find((name) => definitions[name] === schema)
}
