/** The fault simulator on AppWrappers: dispatch, suspension, resumption, failure and removal, with every fault. */
import { describe, it } from 'vitest'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import { components, deployment, job } from '../../../test/appwrapper-environment.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { openSimulator } from '../../simulate/faults/simulate.ts'
import { operatorSubject } from '../../simulate/faults/subject.ts'
import { workloadsOperator } from '../workloads-operator.ts'

const wrapper = (spec: JsonObject): UntypedObject => ({
  apiVersion: 'workload.codeflare.dev/v1beta2',
  kind: 'AppWrapper',
  metadata: { name: 'one' },
  spec,
})

const scenarios: Readonly<Record<string, readonly JsonObject[]>> = {
  suspend: [{ spec: { suspend: true } }],
  'suspend and resume': [{ spec: { suspend: true } }, { spec: { suspend: false } }],
}

/**
 * Not meant: a clock that jumps over a grace period ends it; a wrapped object or a pod that another client deletes or changes is
 * a failure of the AppWrapper, or counts as one of its tries; and the webhook refuses other components than those of its creation.
 */
function isMeant(plan: string): boolean {
  if (/^set spec\.(?:components|managedBy|lifeCycle)/.test(plan)) return false
  return !/jump@|(?:remove|edit|drift)@\w+=(?:pods|jobs|deployments|replicasets|appwrappers)/.test(plan)
}

describe('AppWrappers under faults', () => {
  it(`pass ${howMany} their plans`, async () => {
    const subject = await operatorSubject(() => workloadsOperator)
    const sample = [
      wrapper(components(deployment('web', 2), job('train', 1, { simulated: { 'run-seconds': '9999' } }))),
    ]
    const simulator = await openSimulator({ subject, sample, scenarios })
    await expectToPass(simulator, { sample: 16, mostOthers: 60, isMeant })
  }, 600_000)
})
