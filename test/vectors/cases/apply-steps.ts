/** The steps of a sequence of writes: `apply('a', …)` is a server-side apply by manager `a`. */
import type { Json, JsonObject } from '../../../src/kube/json.ts'
import type { AppliedKind, ApplyCase, ApplyStep } from './apply.ts'

type Write = (by: string, body: Json, subresource?: ApplyStep['subresource']) => ApplyStep

const step =
  (does: ApplyStep['does']): Write =>
  (by, body, subresource) => ({
    by,
    does,
    ...(subresource ? { subresource } : {}),
    body,
  })
export const apply: Write = step('apply')
export const force: Write = step('force')
export const create: Write = step('create')
export const replace: Write = step('replace')
export const merge: Write = step('merge')
export const json: Write = step('json')
export const strategic: Write = step('strategic')

/** A sequence for objects of one kind. The name is also that of the object. */
export const sequence =
  (kind: AppliedKind): ((name: string, ...steps: readonly ApplyStep[]) => ApplyCase) =>
  (name, ...steps) => ({ name, kind, steps })

export const spec = (body: JsonObject): JsonObject => ({ spec: body })
