/** A component that comes with Muster, as the objects of the catalogue. */
import type { Json, JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { Component } from '../catalogue/component.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'

export interface BundledComponent {
  readonly name: string
  readonly title: string
  readonly description: string
  /** By channel. */
  readonly channels: Readonly<Record<string, string>>
  readonly versions: Readonly<Record<string, JsonObject>>
  /** How an installation by other means looks. */
  readonly preinstalled?: JsonObject
}

/** The Component and its versions, as they are applied to a cluster. */
export function catalogueObjects({
  name,
  title,
  description,
  channels,
  versions,
  preinstalled = {},
}: BundledComponent): readonly UntypedObject[] {
  const named = Object.entries(channels).map(([channel, version]) => ({ name: channel, version }))
  const published = Object.entries(versions).map(([version, spec]) =>
    objectOf(ComponentVersion, `${name}-${version}`, { component: name, version, ...spec }),
  )
  return [objectOf(Component, name, { title, description, channels: named, preinstalled }), ...published]
}

function objectOf(kind: typeof Component | typeof ComponentVersion, name: string, spec: Json): UntypedObject {
  return { apiVersion: formatApiVersion(kind), kind: kind.kind, metadata: { name }, spec }
}
