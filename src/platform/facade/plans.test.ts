/** The fault simulator on the façades: what they own in the Platform, with every fault. */
import { describe, it } from 'vitest'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import { faultGroups } from '../../simulate/faults/fault.ts'
import { openSimulator, type Simulator } from '../../simulate/faults/simulate.ts'
import { operatorSubject } from '../../simulate/faults/subject.ts'
import { kymaOperator, openDataHubOperator } from './operators.ts'

const cluster: UntypedObject = {
  apiVersion: 'datasciencecluster.opendatahub.io/v2',
  kind: 'DataScienceCluster',
  metadata: { name: 'default-dsc' },
  spec: { components: { ray: { managementState: 'Managed' }, kueue: {} } },
}
const kyma: UntypedObject = {
  apiVersion: 'operator.kyma-project.io/v1beta2',
  kind: 'Kyma',
  metadata: { name: 'default' },
  spec: { channel: 'regular', modules: [{ name: 'keda' }, { name: 'serverless', managed: false }] },
}

async function open(
  operator: Operator,
  sample: UntypedObject,
  scenarios: Readonly<Record<string, readonly JsonObject[]>>,
): Promise<Simulator> {
  const subject = await operatorSubject(() => operator)
  return await openSimulator({ subject, sample: [sample], workloads: false, scenarios })
}

const all = faultGroups.filter((group) => group !== 'walk')

describe('façades', () => {
  it(`pass ${howMany} the plans of a DataScienceCluster`, async () => {
    const scenarios = { switch: [{ spec: { components: { ray: null, kueue: { managementState: 'Managed' } } } }] }
    await expectToPass(await open(openDataHubOperator, cluster, scenarios), { sample: 12, all })
  }, 900_000)

  it(`pass ${howMany} the plans of a Kyma`, async () => {
    const scenarios = {
      switch: [{ spec: { skipMaintenanceWindows: true, modules: [{ name: 'keda', channel: 'fast' }] } }],
    }
    await expectToPass(await open(kymaOperator, kyma, scenarios), { sample: 12, all })
  }, 900_000)
})
