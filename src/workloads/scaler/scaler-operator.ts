/**
 * The operator of the node scaler. It has a name of its own beside the operator of AppWrappers: both reconcile AppWrappers, one
 * starts them, and this one makes room for them.
 */
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { scalerName } from '../configuration/instascale-section.ts'
import { instascaleConfig } from './instascale-settings.ts'
import { clusterApiMachines, openShiftMachines } from './machine-kinds.ts'
import { machinePoolController } from './machine-pools.ts'
import { managedPoolController } from './managed-pools.ts'
import { scaledWorkloadController } from './scaled-workloads.ts'

export const nodeScalerOperator: Operator = defineOperator({
  name: scalerName,
  config: instascaleConfig,
  controllers: [
    machinePoolController(openShiftMachines, 'machineset'),
    machinePoolController(clusterApiMachines, 'machinedeployment'),
    managedPoolController,
    scaledWorkloadController,
  ],
})
