/** The version v1beta1 of AppWrappers, as MCAD has it. */
import type { JsonObject } from '../../kube/json.ts'
import {
  anything,
  boolean,
  integer,
  list,
  map,
  number,
  object,
  optional,
  schemaField,
  string,
} from '../../operator/kind/field.ts'
import type { VersionDefinition } from '../../operator/kind/kind.ts'

const openObject = (description: string) =>
  schemaField<JsonObject>({ type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true })
const anyText = optional(string())
const wholeNumber = optional(integer())

const item = object({
  replicas: wholeNumber,
  minavailable: wholeNumber,
  allocated: wholeNumber,
  priority: wholeNumber,
  priorityslope: optional(number()),
  generictemplate: optional(openObject('the wrapped object')),
  custompodresources: optional(
    list(
      object({
        replicas: integer({ minimum: 0 }),
        requests: openObject('what each pod requests'),
        limits: optional(openObject('used where a request is 0')),
      }),
    ),
  ),
  completionstatus: anyText,
})

/** The fields of an item that v1beta2 has no use for. */
export const itemFields: readonly string[] = ['replicas', 'minavailable', 'allocated', 'priority', 'priorityslope']

export const v1beta1: VersionDefinition = {
  version: 'v1beta1',
  spec: {
    priority: wholeNumber,
    priorityslope: optional(number()),
    service: optional(openObject('carried, and not used')),
    selector: optional(openObject('carried, and not used')),
    resources: object({ GenericItems: optional(list(item, { description: 'the wrapped objects' })) }),
    schedulingSpec: optional(
      object({
        minAvailable: wholeNumber,
        nodeSelector: optional(map(string())),
        requeuing: optional(
          object({
            timeInSeconds: wholeNumber,
            initialTimeInSeconds: wholeNumber,
            maxTimeInSeconds: wholeNumber,
            growthType: anyText,
            numRequeuings: wholeNumber,
            maxNumRequeuings: wholeNumber,
          }),
        ),
        dispatchDuration: optional(object({ expected: wholeNumber, limit: wholeNumber, overrun: optional(boolean()) })),
      }),
    ),
    v1beta2: optional(openObject('what v1beta2 has and this version has no field for')),
  },
  status: {
    state: anyText,
    queuejobstate: anyText,
    message: anyText,
    canrun: optional(boolean()),
    isdispatched: optional(boolean()),
    pending: wholeNumber,
    running: wholeNumber,
    Succeeded: wholeNumber,
    failed: wholeNumber,
    template: wholeNumber,
    systempriority: optional(number()),
    controllerfirsttimestamp: anyText,
    controllerfirstdispatchtimestamp: anyText,
    totalcpu: optional(number()),
    totalmemory: optional(number()),
    totalgpu: optional(number()),
    requeueingTimeInSeconds: wholeNumber,
    numberOfRequeueings: wholeNumber,
    pendingpodconditions: optional(list(anything())),
    conditions: optional(
      list(
        object({
          type: string(),
          status: string(),
          reason: anyText,
          message: anyText,
          lastUpdateMicroTime: anyText,
          lastTransitionMicroTime: anyText,
        }),
        { description: 'what happened, in order: a type may be there more than once' },
      ),
    ),
    filterignore: optional(boolean()),
    sender: anyText,
    local: optional(boolean()),
    v1beta2: optional(openObject('the status as it is stored')),
  },
}
