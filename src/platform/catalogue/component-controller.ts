/** The controller of Components: says which versions are published, and holds a deleted one until it runs no more. */
import { type Controller, defineController } from '../../operator/controller.ts'
import { Installation } from '../installation/installation.ts'
import { parseVersion, compareSemanticVersions } from '../../render/version/semantic-version.ts'
import { Component, type ComponentObject } from './component.ts'
import { ComponentVersion } from './component-version.ts'

/** On an Installation: the component that it installs. */
export const componentLabel = 'platform.muster.dev/component'

/** On the Installation of the default resources of a component that is left alone: the component. */
export const defaultsLabel = 'platform.muster.dev/defaults-of'

export function componentController(): Controller<ComponentObject> {
  return defineController({
    for: Component,
    reads: [ComponentVersion, Installation],
    status({ cr, view }) {
      const { channels, mandatory } = cr.spec
      const versions = view
        .list(ComponentVersion)
        .filter(({ spec }) => spec.component === cr.metadata.name)
        .map(({ spec }) => spec.version)
      const named: [string, string][] = channels.map(({ name, version }) => [`Channel ${name}`, version])
      if (mandatory) named.push(['spec.mandatory', mandatory.version])
      const missing = named.filter(([, version]) => !versions.includes(version))
      const message = missing.map(([place, version]) => `${place} names version ${version}, which is not published.`)
      return {
        versions: versions.toSorted(byVersion).slice(0, 100),
        conditions:
          missing.length > 0
            ? [{ type: 'Ready', status: 'False', reason: 'VersionNotFound', message: message.slice(0, 5).join(' ') }]
            : [],
      }
    },
    finalize({ cr, view }) {
      const { name } = cr.metadata
      const [running] = view.list(Installation, { labels: `${componentLabel}=${name}` })
      const [defaults] = view.list(Installation, { labels: `${defaultsLabel}=${name}` })
      if (!running && defaults) {
        const { namespace, name: own } = defaults.metadata
        return { waitingFor: `Installation ${namespace}/${own} lets its objects go.`, afterMs: 3_600_000 }
      }
      if (!running) return 'done'
      const place = `Installation ${running.metadata.namespace}/${running.metadata.name}`
      const cure = cr.spec.mandatory ? 'It is being removed' : 'Set it to Removed or Unmanaged in the Platform'
      return { waitingFor: `${place} still runs. ${cure}.`, afterMs: 3_600_000 }
    },
  })
}

/** The newest first; texts that are no versions last. */
function byVersion(one: string, other: string): number {
  const [a, b] = [parseVersion(one), parseVersion(other)]
  return a && b ? compareSemanticVersions(b, a) : Number(!a) - Number(!b)
}
