/** The operator of AppWrappers. */
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { appWrapperConfig } from './appwrapper-config.ts'
import { appWrapperController } from './appwrapper-controller.ts'
import { appWrapperConversion } from './conversion.ts'
import { operatorName } from './labels.ts'
import { queueCoordinator } from './queue-coordinator.ts'

export function appWrapperOperator(): Operator {
  return defineOperator({
    name: operatorName,
    config: appWrapperConfig,
    controllers: [appWrapperController(queueCoordinator())],
    conversions: [appWrapperConversion],
  })
}
