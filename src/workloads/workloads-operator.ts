/** The workloads operator: what a manager hosts as `workloads`. */
import { defineOperator, type Operator } from '../operator/operator.ts'
import { appWrapperWebhook } from './appwrapper/admission.ts'
import { appWrapperConversion } from './appwrapper/conversion.ts'
import { appWrappers } from './appwrapper/operator.ts'
import { workloadsConfig, workloadsName } from './configuration/workloads-config.ts'
import { subtreeController } from './quota/subtree-controller.ts'

export const workloadsOperator: Operator = defineOperator({
  name: workloadsName,
  controllers: [appWrappers, subtreeController],
  conversions: [appWrapperConversion],
  webhooks: [appWrapperWebhook({ defaultQueueName: '', checksAccess: true })],
  config: workloadsConfig,
})
