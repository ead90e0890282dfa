/**
 * The settings of an installed manager, with placeholders for what the user chooses when it is installed: the name of
 * the installation and its namespace. A name that the configuration itself has chosen stays; what it has put into the
 * namespace of the installation moves with it.
 */
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { objectNameOf } from '../manager/config/options-of.ts'
import { installationNames } from '../manager/config/pod-layer.ts'
import type { Settings } from '../manager/config/settings.ts'
import type { InstallationDescription } from './description.ts'
import { ownName, ownNamespace } from './object-parts.ts'
import { withValue } from './values.ts'

/** The names of the objects of the installation, with the placeholder. */
export const installedNames: ReturnType<typeof installationNames> = installationNames(ownName)

export function installedSettings(description: InstallationDescription): Settings {
  const { name, settings } = description
  const { leaderElection, sharding } = settings
  const called = (given: string): string => (given === name ? ownName : given)
  const named: Settings = {
    ...settings,
    leaderElection: { ...leaderElection, resourceName: called(leaderElection.resourceName) },
    sharding: { ...sharding, group: called(sharding.group) },
  }
  const moved = ownReferences(description).reduce<JsonObject>(
    (all, { path, value }) => withValue(all, path, value),
    named as unknown as JsonObject,
  )
  return moved as unknown as Settings
}

interface OwnReference {
  readonly path: readonly string[]
  /** With placeholders. */
  readonly value: string
  /** The configuration itself has set it. */
  readonly isChosen: boolean
}

/** Settings that name the namespace of the installation, or an object in it. */
export function ownReferences({ name, namespace, settings, config }: InstallationDescription): readonly OwnReference[] {
  const usual = installationNames(name)
  const renamed = new Map(
    Object.entries(usual).map(([which, given]) => [given, installedNames[which as keyof typeof usual]]),
  )
  const paths = [
    ['leaderElection', 'resourceNamespace'],
    ['sharding', 'namespace'],
    ['watchdog', 'quarantine'],
    ['webhooks', 'secret'],
    ...Object.keys(settings.clusters).map((cluster) => ['clusters', cluster, 'secret']),
    ...Object.keys(settings.operators).map((operator) => ['operators', operator, 'identity', 'serviceAccount']),
  ]
  return paths.flatMap((path) => {
    const given = at(settings as unknown as JsonObject, path)
    const isChosen = at(config, path) !== undefined
    if (given === namespace) return [{ path, value: ownNamespace, isChosen }]
    if (typeof given !== 'string' || !given.startsWith(`${namespace}/`)) return []
    const object = objectNameOf(given)
    return [{ path, value: `${ownNamespace}/${renamed.get(object.name) ?? object.name}`, isChosen }]
  })
}

function at(value: JsonObject, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((below, name) => (isJsonObject(below) ? below[name] : undefined), value)
}
