/**
 * A scenario: what users do, step by step. It starts with a cluster at rest, at the end of another scenario, and
 * ends when the cluster is at rest again. Faults are injected in between.
 */
import { sampleTable } from '../environment/world.ts'
import type { Client } from '../../client/client.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import { parseApiVersion, type Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { SimulatedSubject } from './subject.ts'

export interface Scenario {
  readonly name: string
  /** The scenario whose end it starts from. @default an empty cluster with the operator's kinds */
  readonly after?: string | undefined
  readonly steps: readonly ScenarioStep[]
  /** A scenario with the same end state, reached in another way. */
  readonly like?: string | undefined
}

export interface ScenarioStep {
  readonly text: string
  /** A precondition of the step. */
  isReady?(storage: Storage): boolean
  act(client: Client): Promise<void>
}

/** An object of the sample and its resource. */
export interface PlacedSample {
  readonly resource: Resource
  readonly object: UntypedObject
  /** Whether the operator reconciles it. */
  readonly isCr: boolean
}

export function createStep(placed: readonly PlacedSample[]): ScenarioStep {
  const crs = placed.filter(({ isCr }) => isCr)
  return {
    text: `a user creates ${namesOf(crs)}`,
    isReady: (storage) =>
      crs.every(({ resource, object: { metadata } }) => {
        return !storage.table(sampleTable(resource)).get(metadata.namespace, metadata.name ?? '')
      }),
    async act(client) {
      for (const { resource, object } of placed) {
        await client.create(resource, object).catch((error: unknown) => {
          if (!isMusterError(error, clientErrors.AlreadyExists)) throw error
        })
      }
    },
  }
}

export function deleteStep(placed: readonly PlacedSample[]): ScenarioStep {
  const crs = placed.filter(({ isCr }) => isCr)
  return {
    text: `a user deletes ${namesOf(crs)}`,
    async act(client) {
      for (const { resource, object } of crs) {
        const { namespace, name = '' } = object.metadata
        await client.delete(resource, { namespace, name }).catch((error: unknown) => {
          if (!isMusterError(error, clientErrors.NotFound)) throw error
        })
      }
    },
  }
}

/** Changes fields of a CR by a merge patch. */
export function changeStep({ resource, object }: PlacedSample, patch: JsonObject): ScenarioStep {
  const { namespace, name = '' } = object.metadata
  return {
    text: `a user changes ${object.kind} ${name}: ${JSON.stringify(patch['spec'])}`,
    async act(client) {
      await client.patch(resource, { namespace, name }, patch, { type: 'merge' })
    },
  }
}

function namesOf(placed: readonly PlacedSample[]): string {
  return placed.map(({ object }) => `${object.kind} ${object.metadata.name}`).join(', ')
}

/** The resources and namespaces of the sample's objects. */
export function placeSample(
  sample: readonly UntypedObject[],
  { kinds, controls }: SimulatedSubject,
): readonly PlacedSample[] {
  return sample.map((object) => {
    const { group, version } = parseApiVersion(object.apiVersion)
    const isOf = (one: Resource): boolean => one.kind === object.kind && one.group === group && one.version === version
    const resource = [...controls, ...kinds].find(isOf) ?? builtinResource({ group, version, kind: object.kind })
    if (!resource)
      throw new MusterError(kubeErrors.UnknownKind, `the sample has a ${object.kind} of ${object.apiVersion}.`)
    const { namespace = 'default' } = object.metadata
    const placed = resource.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object
    return { resource, object: placed, isCr: controls.some(isOf) }
  })
}
