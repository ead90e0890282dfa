/** The operator of the platform: Installations, and the Platform with its components on top of them. */
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { componentController } from '../catalogue/component-controller.ts'
import { platformName } from '../installation/holder.ts'
import { installationControllers } from '../installation/operator.ts'
import type { SourceServices } from '../installation/render-source.ts'
import { platformController } from './platform-controller.ts'

export function componentsOperator(services: SourceServices): Operator {
  return defineOperator({
    name: platformName,
    controllers: [...installationControllers(services), componentController(), platformController()],
  })
}
