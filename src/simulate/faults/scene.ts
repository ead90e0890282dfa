/**
 * A scene: what people do, step by step, with the operator looking on. It begins with a cluster at rest, where another
 * scene ended, and ends when all is at rest again. Faults strike in between.
 */
import { sampleTable } from '../environment/world.ts'
import type { Client } from '../../client/client.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { isMusterError, MusterError } from '../../kube/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import { parseApiVersion, type Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { SimulatedSubject } from './subject.ts'

export interface Scene {
  readonly name: string
  /** The scene at whose end it begins. @default an empty cluster with the operator's kinds */
  readonly after?: string | undefined
  readonly steps: readonly SceneStep[]
  /** The scene that ends alike: another way to the same state. */
  readonly like?: string | undefined
}

export interface SceneStep {
  readonly text: string
  /** It cannot be done before this. */
  isReady?(storage: Storage): boolean
  act(client: Client): Promise<void>
}

/** An object of the sample, and where it is. */
export interface PlacedSample {
  readonly resource: Resource
  readonly object: UntypedObject
  /** The operator is for it. */
  readonly isCr: boolean
}

export function createStep(placed: readonly PlacedSample[]): SceneStep {
  const crs = placed.filter(({ isCr }) => isCr)
  return {
    text: `somebody creates ${namesOf(crs)}`,
    isReady: (storage) =>
      crs.every(({ resource, object: { metadata } }) => {
        return !storage.table(sampleTable(resource)).get(metadata.namespace, metadata.name ?? '')
      }),
    async act(client) {
      for (const { resource, object } of placed) {
        await client.create(resource, object).catch((error: unknown) => {
          if (!isMusterError(error, 'AlreadyExists')) throw error
        })
      }
    },
  }
}

export function deleteStep(placed: readonly PlacedSample[]): SceneStep {
  const crs = placed.filter(({ isCr }) => isCr)
  return {
    text: `somebody deletes ${namesOf(crs)}`,
    async act(client) {
      for (const { resource, object } of crs) {
        const { namespace, name = '' } = object.metadata
        await client.delete(resource, { namespace, name }).catch((error: unknown) => {
          if (!isMusterError(error, 'NotFound')) throw error
        })
      }
    },
  }
}

/** Changes fields of a CR by a merge patch. */
export function changeStep({ resource, object }: PlacedSample, patch: JsonObject): SceneStep {
  const { namespace, name = '' } = object.metadata
  return {
    text: `somebody changes ${object.kind} ${name}: ${JSON.stringify(patch['spec'])}`,
    async act(client) {
      await client.patch(resource, { namespace, name }, patch, { type: 'merge' })
    },
  }
}

function namesOf(placed: readonly PlacedSample[]): string {
  return placed.map(({ object }) => `${object.kind} ${object.metadata.name}`).join(', ')
}

/** Where the objects of a sample belong. */
export function placeSample(
  sample: readonly UntypedObject[],
  { kinds, controls }: SimulatedSubject,
): readonly PlacedSample[] {
  return sample.map((object) => {
    const { group, version } = parseApiVersion(object.apiVersion)
    const isOf = (one: Resource): boolean => one.kind === object.kind && one.group === group && one.version === version
    const resource = [...controls, ...kinds].find(isOf) ?? builtinResource({ group, version, kind: object.kind })
    if (!resource) throw new MusterError('UnknownKind', `the sample has a ${object.kind} of ${object.apiVersion}.`)
    const { namespace = 'default' } = object.metadata
    const placed = resource.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object
    return { resource, object: placed, isCr: controls.some(isOf) }
  })
}
