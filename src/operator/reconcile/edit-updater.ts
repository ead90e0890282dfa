/** Updater, for edits: one wave of writes to objects that are not the controller's own; what is so already is not written. */
import { equalJson, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { formatApiVersion, kindOf, type Resource } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject } from '../../kube/object.ts'
import { applyMergePatch } from '../../kube/patch/merge-patch.ts'
import type { Edit, Edits } from '../edits.ts'
import { operatorErrors } from '../errors.ts'
import type { Operation } from '../ledger.ts'
import type { Mutation } from '../plan.ts'
import type { ReconcileRun, Waves } from './run.ts'

interface PlannedEdit {
  readonly mutation: Mutation
  readonly name: { readonly name: string; readonly namespace: string | undefined }
  readonly operation: Operation
  readonly fields: readonly string[]
}

export async function* carryOutEdits(run: ReconcileRun): Waves {
  const { edits } = run.situation.controller.options
  if (!edits || run.isFinalizing) return
  const asked = await run.author(() => edits.plan(run.context))
  const planned = asked.flatMap((edit) => plan(run, edit, edits) ?? [])
  if (planned.length === 0) return
  const outcomes = yield planned.map(({ mutation }) => mutation)
  for (const [index, { mutation, name, operation, fields }] of planned.entries()) {
    const { subject, resource } = mutation
    const outcome = outcomes[index]
    if (outcome?.result === 'failed') run.journal.fail(outcome.error, subject)
    else if (outcome?.result === 'exists') {
      run.journal.fail(
        new MusterError(operatorErrors.NotOurs, `${subject} exists already, and ${run.journal.place} has not made it.`),
        subject,
      )
    } else
      run.journal.note(subject, operation, { object: { kind: resource, name }, ...(fields.length > 0 && { fields }) })
  }
}

/** Undefined if nothing is to be written. */
function plan(run: ReconcileRun, edit: Edit, { kinds }: Edits<never>): PlannedEdit | undefined {
  const object = 'create' in edit ? edit.create : 'change' in edit ? edit.change : edit.remove
  const { name = '', namespace, uid = '', resourceVersion = '' } = object.metadata
  const resource = resourceOf(
    run,
    object,
    kinds.map((each) => each.resource),
  )
  const at = { name, namespace }
  const target = { subject: `${resource.kind}/${namespace === undefined ? '' : `${namespace}/`}${name}`, resource }
  if ('create' in edit) {
    const mutation = { ...target, verb: 'apply', object: edit.create, why: 'missing', force: false } as const
    return { mutation, name: at, operation: 'created', fields: [] }
  }
  if ('remove' in edit) {
    if (object.metadata.deletionTimestamp !== undefined) return undefined
    return {
      mutation: { ...target, verb: 'delete', name: at, uid, why: 'pruned' },
      name: at,
      operation: 'deleted',
      fields: [],
    }
  }
  const fields = changedFields(edit.change, edit)
  if (fields.length === 0) return undefined
  const { labels = {}, annotations = {}, spec } = edit
  const marks = { verb: 'marks', name: at, uid, resourceVersion, labels, annotations, why: 'edited' } as const
  return { mutation: { ...target, ...marks, ...(spec && { spec }) }, name: at, operation: 'updated', fields }
}

function resourceOf(run: ReconcileRun, object: KubeObject, resources: readonly Resource[]): Resource {
  const wanted = kindOf(object)
  const found = resources.find(({ group, kind }) => group === wanted.group && kind === wanted.kind)
  if (found) return found
  const declared = resources.map((one) => `${one.kind} of ${formatApiVersion(one)}`).join(', ')
  throw new MusterError(
    operatorErrors.UndeclaredOutput,
    `${run.journal.place} edits ${object.kind} of ${object.apiVersion}, but declares ${declared || 'nothing'} in edits.`,
  )
}

type Change = Extract<Edit, { readonly change: KubeObject }>

/** The parts of the object that the edit would change. */
function changedFields(live: KubeObject, { labels, annotations, spec }: Omit<Change, 'change'>): readonly string[] {
  const own = asJson(live)
  const differs = (before: Json | undefined, patch: JsonObject | undefined): boolean =>
    patch !== undefined && !equalJson(applyMergePatch(before ?? {}, patch), before ?? {})
  return [
    ...(differs(live.metadata.labels, labels) ? ['metadata.labels'] : []),
    ...(differs(live.metadata.annotations, annotations) ? ['metadata.annotations'] : []),
    ...Object.entries(spec ?? {}).flatMap(([name, value]) =>
      differs(own['spec'], { [name]: value }) ? [`spec.${name}`] : [],
    ),
  ]
}
