/** Server-side apply, step by step on the server's own objects: the same result, owners and conflicts as recorded. */
import { describe, expect, it } from 'vitest'
import { applyObject, updateObject } from '../../src/kube/apply/apply.ts'
import { ApplyConflict } from '../../src/kube/apply/conflict.ts'
import { type FieldSet, fieldSet } from '../../src/kube/apply/field-set.ts'
import { builtinDefinitions, builtinSchema } from '../../src/kube/builtin.ts'
import { isMusterError } from '../../src/kube/muster-error.ts'
import { type Json, type JsonObject, isJsonObject } from '../../src/kube/json.ts'
import { kindOf } from '../../src/kube/kind.ts'
import type { ManagedFieldsEntry, UntypedObject } from '../../src/kube/object.ts'
import type { Schema } from '../../src/kube/schema.ts'
import { type AppliedKind, type ApplyVector, appliedKinds } from '../vectors/cases/apply.ts'
import { thingSchema } from '../vectors/cases/apply-thing.ts'
import { readVectors } from '../vectors/read.ts'
import { differences } from './differences.ts'

type Step = ApplyVector['steps'][number]

/** One step with the object it starts from. */
interface Situation {
  readonly name: string
  readonly vector: ApplyVector
  readonly step: Step
  readonly live: UntypedObject | undefined
}

const { vectors } = await readVectors<ApplyVector>('apply')
const situations = vectors.flatMap(situationsOf)
const updates = situations.filter(({ step }) => !isApply(step) && !step.refusal)
const applies = situations.filter(({ step }) => isApply(step))

describe('server-side apply', () => {
  it('an update has the field owners of the server', () => {
    expect(updates.length).toBeGreaterThan(30)
    expect(
      differences(
        updates,
        (situation) => ownersOf(updateObject({ ...writeOptions(situation), updated: updatedObject(situation) })),
        ({ step }) => step.managedFields as unknown as Json,
        { 'pod-status, step 1': 'what admission adds to an object that is created belongs to no field manager' },
      ),
    ).toEqual([])
  })

  it('an apply has the field owners of the server', () => {
    const accepted = applies.filter(({ step }) => !step.refusal)
    expect(accepted.length).toBeGreaterThan(100)
    expect(
      differences(
        accepted,
        (situation) => ownersOf(applied(situation)),
        ({ step }) => step.managedFields as unknown as Json,
      ),
    ).toEqual([])
  })

  it('an apply results in the object of the server', () => {
    const accepted = applies.filter(({ step }) => !step.refusal)
    expect(
      differences(
        accepted,
        (situation) => withDefaults(stored(situation, applied(situation)), situation),
        ({ step }) => step.object,
        {
          'apply-an-empty-map, step 1': 'the server leaves out empty maps of built-in kinds',
          'apply-an-empty-map, step 3': 'the server leaves out empty maps of built-in kinds',
          'apply-a-null, step 1': 'null in a map of texts is an empty text to the server',
          'apply-a-null, step 2': 'null in a map of texts is an empty text to the server',
          'default-is-nobodys, step 4': 'the server puts a default back where a value was removed',
          'deployment-resources, step 3': 'the server writes quantities in their canonical form',
          'pod-tolerations-and-volumes, step 2': 'admission adds tolerations of its own',
          'deployment-status, step 3': 'the server writes unset times as null',
        },
      ),
    ).toEqual([])
  })

  it('an apply conflicts as on the server, with the same message', () => {
    const conflicts = applies.filter(({ step }) => step.refusal?.status === 409)
    expect(conflicts.length).toBeGreaterThan(20)
    expect(
      differences(
        conflicts,
        (situation) => {
          const error = failure(() => applied(situation))
          return error instanceof ApplyConflict
            ? { message: error.message, fields: error.conflicts.map(({ field }) => field).toSorted() }
            : String(error)
        },
        ({ step }) => ({
          message: step.refusal?.message ?? '',
          fields: step.refusal?.causes?.map(({ field }) => String(field)).toSorted() ?? [],
        }),
      ),
    ).toEqual([])
  })

  it('an object that does not match the schema is rejected as on the server', () => {
    const refused = applies.filter(({ step }) => step.refusal && [400, 500].includes(step.refusal.status))
    expect(refused.length).toBeGreaterThan(10)
    expect(
      differences(
        refused,
        (situation) => isMusterError(failure(() => applied(situation))),
        () => true,
      ),
    ).toEqual([])
  })
})

function situationsOf(vector: ApplyVector): readonly Situation[] {
  const found: Situation[] = []
  let live: UntypedObject | undefined
  for (const [index, step] of vector.steps.entries()) {
    found.push({ name: `${vector.name}, step ${index + 1}`, vector, step, live })
    if (step.object) live = withEntries(step.object as unknown as UntypedObject, step.managedFields ?? [])
  }
  return found
}

function isApply({ does }: Step): boolean {
  return does === 'apply' || does === 'force'
}

function withEntries(object: UntypedObject, managedFields: readonly ManagedFieldsEntry[]): UntypedObject {
  return { ...object, metadata: { ...object.metadata, managedFields } }
}

function schemaOf(kind: AppliedKind): Schema | undefined {
  return kind === 'thing' ? thingSchema : builtinSchema(kindOf(appliedKinds[kind]))
}

/** What the registry of each kind does not let through: status here, everything else there. */
const resetFields: Readonly<Partial<Record<AppliedKind, { readonly main: FieldSet; readonly status: FieldSet }>>> = {
  thing: { main: fieldSet(['status']), status: fieldSet(['metadata'], ['spec']) },
  deployment: { main: fieldSet(['status']), status: fieldSet(['spec'], ['metadata', 'labels']) },
  pod: { main: fieldSet(['status']), status: fieldSet(['spec'], ['metadata', 'ownerReferences']) },
  service: { main: fieldSet(['status']), status: fieldSet(['spec']) },
}

function writeOptions({
  vector,
  step,
  live,
}: Situation): Omit<Parameters<typeof updateObject<UntypedObject>>[0], 'updated'> {
  const reset = resetFields[vector.kind]?.[step.subresource === 'status' ? 'status' : 'main']
  return {
    live,
    manager: step.by,
    subresource: step.subresource,
    schema: schemaOf(vector.kind),
    definitions: builtinDefinitions(),
    now: 0,
    ...(reset ? { resetFields: reset } : {}),
  }
}

function applied(situation: Situation): UntypedObject {
  const { vector, step } = situation
  const { apiVersion, kind } = appliedKinds[vector.kind]
  const body = step.body as JsonObject
  const metadata = { name: vector.name, ...(body['metadata'] as JsonObject | undefined) }
  const config = { apiVersion, kind, ...body, metadata }
  return applyObject({ ...writeOptions(situation), applied: config, force: step.does === 'force' })
}

/** The object that an update sends: what the server has afterwards, with the record as the client sent it. */
function updatedObject({ step, live }: Situation): UntypedObject {
  const object = step.object as unknown as UntypedObject
  const sent = (step.body as { readonly metadata?: { readonly managedFields?: readonly ManagedFieldsEntry[] | null } })
    .metadata?.managedFields
  const entries = sent === undefined ? live?.metadata.managedFields : (sent ?? undefined)
  return entries ? withEntries(object, entries) : object
}

/** Without the record, and with what this way in cannot write as it was. */
function stored({ step, live }: Situation, { metadata, ...object }: UntypedObject): JsonObject {
  const { managedFields: _managedFields, ...rest } = metadata
  const whole = { ...object, metadata: rest } as unknown as JsonObject
  const before = (live ?? {}) as unknown as JsonObject
  const { managedFields: _old, ...liveMetadata } = (before['metadata'] ?? {}) as JsonObject
  return step.subresource === 'status'
    ? { ...before, metadata: liveMetadata, status: whole['status'] }
    : { ...whole, status: before['status'] }
}

/** Defaults are the server's to add; where they may appear they are taken over, so that all else can be compared. */
function withDefaults(ours: Json, { live, step }: Situation): Json {
  const fill = (mine: Json | undefined, before: Json | undefined, after: Json | undefined): Json | undefined => {
    if (Array.isArray(mine) && Array.isArray(after)) {
      // Items move about: what any of them had before counts as having been there.
      const old = Array.isArray(before) ? (Object.assign({}, ...(before as object[])) as JsonObject) : undefined
      return mine.map((item: Json, index) => fill(item, old, after[index] as Json) ?? null)
    }
    if (!isJsonObject(mine) || !isJsonObject(after)) return mine
    const old = isJsonObject(before) ? before : {}
    // A member that was there before and that we removed must not come back unnoticed.
    const added = Object.keys(after).filter((key) => mine[key] === undefined && old[key] === undefined)
    const filled = Object.keys(mine).map((key) => [key, fill(mine[key], old[key], after[key])] as const)
    return Object.fromEntries([...filled, ...added.map((key) => [key, after[key]] as const)])
  }
  return fill(ours, live as unknown as Json | undefined, step.object) ?? null
}

function ownersOf(object: UntypedObject): Json {
  const key = ({ operation, manager, subresource, apiVersion }: ManagedFieldsEntry): string =>
    [operation, manager, subresource, apiVersion].join('\n')
  return (object.metadata.managedFields ?? [])
    .map(({ time: _time, ...entry }) => entry)
    .toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

function failure(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}
