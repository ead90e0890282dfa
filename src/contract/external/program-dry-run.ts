/**
 * What a program would write, as a diff: it runs once on the cluster's state, and each of its mutations is sent as a
 * dry run, so the diff shows the API server's result.
 *
 * A dry run stores nothing. So a mutation that depends on an earlier one of the same run (a status of a new object, an
 * object in a new namespace) is shown as the program recorded it; and writes of later runs are not shown.
 */
import path from 'node:path'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { fieldChanges } from '../../manager/plan/field-change.ts'
import type { OperatorPlan, PlannedChange, PlannedCr } from '../../manager/plan/dry-run.ts'
import { mask, maskText, meetSecrets } from '../../manager/plan/mask.ts'
import { openGatherFolder } from '../directory/gather-folder.ts'
import { inputsOfCluster } from '../directory/inputs.ts'
import { readInputResources, readOutputResources } from '../declaration/resource-list.ts'
import { typesIn } from '../declaration/selection.ts'
import {
  type ExecutedMutations,
  executeMutations,
  type CheckedMutations,
  checkMutations,
  type MutationTarget,
} from './execute-mutations.ts'
import { isDryRunMutation } from './deletion.ts'
import { mutationObjectKey, shownObject, ledgerText } from './program-ledger.ts'
import { askProgram, discard, type HostedProgram, runOnce } from './program-run.ts'
import { openProgramFolder } from './programs-folder.ts'
import { servedResource } from '../directory/served.ts'

export interface ProgramDryRunOptions {
  readonly name: string
  readonly hosted: HostedProgram
  /** The cluster, in all roles. */
  readonly client: Client
  readonly clock?: Clock
  readonly signal: AbortSignal
}

const at = { cr: 'run', kind: 'Program', controller: 'program' } as const

/** @throws NeedsCluster for a program that runs live; ExternalFailed, OutputRefused and other errors of a run */
export async function dryRunProgram(options: ProgramDryRunOptions): Promise<OperatorPlan> {
  const { name, hosted, client, clock = systemClock, signal } = options
  if (hosted.live) {
    throw new MusterError(
      operatorErrors.NeedsCluster,
      `${name} runs live: what it does outside the cluster cannot be shown in advance.`,
    )
  }
  const around = { name, clock, signal }
  const { applyConfigurationResources: list } = await askProgram('input-resources', hosted, around, readInputResources)
  const declared = await askProgram('output-resources', hosted, around, readOutputResources)
  for (const type of typesIn(list)) {
    if (await servedResource(client, type)) continue
    const message = `${type.resource} of ${type.group || 'v1'} are not served`
    return { operator: name, changes: [], crs: [{ ...at, outcome: 'waiting', message }] }
  }
  const folder = openProgramFolder(name)
  const secrets = meetSecrets()
  const hide = (text: string): string => maskText(text, secrets.values)
  try {
    const gather = openGatherFolder(path.join(folder, 'input'), { isShared: true })
    const content = await inputsOfCluster(client, list)
    gather.update(content)
    for (const { objects } of content.selected.values()) for (const object of objects) secrets.note(object)
    const output = await runOnce(hosted, {
      ...around,
      input: gather.path,
      folder,
      now: clock.now(),
      onRefused: () => undefined,
      hide,
    })
    // API servers quote rejected values, so the mutations' Secrets are redacted, too.
    for (const wanted of output.mutations) secrets.note(wanted.content as unknown as KubeObject | undefined)
    const targetOf = (): MutationTarget => dryTarget(client)
    const how = { targetOf, declared, fieldManager: name, others: hosted.others }
    const checked = await checkMutations(output.mutations, how)
    const known = await Promise.all(checked.map((each) => asItIs(client, each)))
    const done = await executeMutations(checked, how)
    const planned = new Map<string, Planned>()
    for (const [index, each] of checked.entries()) note(planned, each, known[index], done[index]!)
    for (const { after } of planned.values()) secrets.note(after)
    const problems = [...planned.values()].flatMap(({ problem }) => (problem === undefined ? [] : [problem]))
    const broken = output.results!.flatMap(({ errors }) => errors)
    const [message] = [...problems, ...broken].map(hide)
    const outcome: PlannedCr =
      message === undefined ? { ...at, outcome: 'settled' } : { ...at, outcome: 'failed', message }
    return {
      operator: name,
      changes: [...planned.values()].flatMap((each) => changeOf(each, secrets.values)),
      crs: [outcome],
    }
  } catch (error) {
    // Without a cause, which would hold the original text.
    throw isMusterError(error) ? new MusterError(error, hide(error.message)) : error
  } finally {
    discard(folder)
  }
}

/** The cluster, with dry-run writes only. */
function dryTarget(client: Client): MutationTarget {
  const dryRun = true
  return {
    client: {
      ...client,
      request: () => Promise.reject(new MusterError(operatorErrors.NeedsCluster, 'An action has no dry run.')),
    },
    writer: {
      create: (resource, object, how) => client.create(resource, object, { ...how, dryRun }),
      update: (resource, object, how) => client.update(resource, object, { ...how, dryRun }),
      patch: (resource, ref, patch, how) => client.patch(resource, ref, patch, { ...how, dryRun }),
      apply: (resource, object, how) => client.apply(resource, object, { ...how, dryRun }),
      delete: (resource, ref, how) => client.delete(resource, ref, { ...how, dryRun }),
      setScale: (resource, ref, replicas, how) => client.setScale(resource, ref, replicas, { ...how, dryRun }),
      evict: (pod, how) => client.evict(pod, { ...how, dryRun }),
    },
  }
}

async function asItIs(
  client: Client,
  { resource, read: { mutation } }: CheckedMutations,
): Promise<KubeObject | undefined> {
  const { name, namespace } = mutation
  if (name === '') return undefined
  try {
    return await client.get(resource, { name, namespace })
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return undefined
    throw error
  }
}

/** An object after all of its writes. */
interface Planned {
  readonly checked: CheckedMutations
  readonly before: KubeObject | undefined
  readonly after: KubeObject | undefined
  readonly problem?: string
}

function note(
  planned: Map<string, Planned>,
  checked: CheckedMutations,
  before: KubeObject | undefined,
  { error, object }: ExecutedMutations,
): void {
  const { resource, read } = checked
  const { name, generateName, namespace, verb } = read.mutation
  const key = mutationObjectKey({ resource, name: name || `${generateName}…`, namespace })
  const earlier = planned.get(key)
  const isNew = before === undefined && (verb === 'Create' || verb === 'Apply' || earlier?.after !== undefined)
  if (error !== undefined && !(isNew && isMusterError(error, clientErrors.NotFound, clientErrors.Conflict))) {
    planned.set(key, {
      checked,
      before,
      after: earlier?.after ?? before,
      problem: `${read.file}: ${ledgerText(error)}`,
    })
    return
  }
  if (isDryRunMutation(read)) return
  const recorded = earlier?.after ?? (read.content as unknown as KubeObject | undefined)
  planned.set(key, { checked, before, after: verb === 'Delete' ? undefined : (object ?? recorded) })
}

function changeOf({ checked, before, after }: Planned, values: ReadonlySet<string>): readonly PlannedChange[] {
  const { resource, read } = checked
  const { name, generateName, namespace } = read.mutation
  const typing = { apiVersion: formatApiVersion(resource), kind: resource.kind }
  const shown = (object: KubeObject | undefined): JsonObject | undefined =>
    object && Object.assign({}, typing, shownObject(object))
  const [was, is] = [shown(before), shown(after)]
  const fields = was && is ? fieldChanges(was, is) : []
  if ((was && is && fields.length === 0) || (!was && !is)) return []
  const pair = mask({ before: was, after: is }, values)
  return [
    {
      cr: at.cr,
      controller: at.controller,
      action: is ? (was ? 'change' : 'create') : 'delete',
      object: { ...typing, ...(namespace !== undefined && { namespace }), name: name || `${generateName}…` },
      fields: pair.before && pair.after ? fieldChanges(pair.before, pair.after) : [],
      ...(pair.before && { before: pair.before }),
      ...(pair.after && { after: pair.after }),
    },
  ]
}
