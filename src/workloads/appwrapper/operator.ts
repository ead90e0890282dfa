/** The parts of the workloads operator that are about AppWrappers. */
import type { NeedsConfig } from '../../operator/config.ts'
import type { Controller } from '../../operator/controller.ts'
import type { WorkloadsSettings } from '../configuration/workloads-config.ts'
import type { AppWrapperObject } from './appwrapper.ts'
import { appWrapperController } from './appwrapper-controller.ts'
import { queueCoordinator } from './queue-coordinator.ts'

export const appWrappers: Controller<AppWrapperObject, WorkloadsSettings> & NeedsConfig<WorkloadsSettings> =
  appWrapperController(queueCoordinator())
