/** The workloads operator: what a manager hosts as `workloads`. */
import { defineOperator, type Operator } from '../operator/operator.ts'
import { workloadsConfig, workloadsName } from './configuration/workloads-config.ts'
import { subtreeController } from './quota/subtree-controller.ts'

export const workloadsOperator: Operator = defineOperator({
  name: workloadsName,
  controllers: [subtreeController],
  config: workloadsConfig,
})
