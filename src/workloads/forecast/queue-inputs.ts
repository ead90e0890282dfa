/** The kinds that a forecast is made of: what the queue reads, and quota. */
import type { Resource } from '../../kube/kind.ts'
import { type Input, inputOf, uniqueInputs } from '../../operator/view/input.ts'
import { queueCoordinator } from '../appwrapper/queue-coordinator.ts'
import { quotaInputs } from '../quota/quota-tracker.ts'

export const queueInputs: readonly Input[] = uniqueInputs([
  ...queueCoordinator().declaredInputs,
  ...quotaInputs.map((one: Resource | Input): Input => inputOf(one)),
])
