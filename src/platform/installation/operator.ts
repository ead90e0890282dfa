/** The operator of Installations. */
import { defineOperator, type Operator } from '../../operator/operator.ts'
import type { Controller } from '../../operator/controller.ts'
import { defineTask } from '../../operator/task/task.ts'
import { platformName } from './holder.ts'
import type { InstallationObject } from './installation.ts'
import { installationController } from './installation-controller.ts'
import {
  type RenderedSource,
  renderSource,
  resolveSource,
  type SourceRequest,
  type SourceServices,
} from './render-source.ts'
import type { FixedVersion } from '../../render/source/moving-version.ts'
import type { VersionRequest } from './source-interval.ts'

/** Installations alone. */
export function installationOperator(services: SourceServices): Operator {
  return defineOperator({ name: platformName, controllers: installationControllers(services) })
}

export function installationControllers(services: SourceServices): readonly Controller<InstallationObject>[] {
  const render = defineTask({
    name: 'muster.dev/render-source',
    // Files of the Installation, values, and objects that a chart looked up.
    maxInputBytes: 4 * 1024 * 1024,
    run: async (request: SourceRequest, { signal, secrets }): Promise<RenderedSource> =>
      await renderSource(request, services, { credentials: secrets, signal }),
  })
  const resolve = defineTask({
    name: 'muster.dev/resolve-source',
    timeoutMs: 30_000,
    ephemeral: true,
    run: async (request: VersionRequest, { signal, secrets }): Promise<FixedVersion> =>
      await resolveSource(request, services, { credentials: secrets, signal }),
  })
  return [installationController(render, resolve)]
}
