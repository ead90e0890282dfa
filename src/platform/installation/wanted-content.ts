/** What the source renders to now: the content of the revision that is wanted, and the records that the render depends on. */
import { equalJson, isJsonObject, type JsonObject } from '../../kube/json.ts'
import { asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { LiveContext } from '../../operator/controller.ts'
import { fail } from '../../operator/failure.ts'
import type { Task } from '../../operator/task/task.ts'
import type { View } from '../../operator/view/view.ts'
import type { FixedVersion } from '../../render/source/moving-version.ts'
import { type Choice, chooseRevision } from './attempt.ts'
import { renderForCluster } from './capabilities.ts'
import { addedValues, generatedValues } from './generated-secrets.ts'
import type { InstallationObject, InstallationStatus } from './installation.ts'
import { renderWithLookups } from './lookups.ts'
import type { RenderedSource, SourceRequest } from './render-source.ts'
import { type ReleaseRevision, renderRelease } from './release-revision.ts'
import { contentDigest, type RevisionContent, type RevisionItem } from './revision.ts'
import { accountOf, sourceCredentials, sourceRequest } from './source-request.ts'
import { knownRevision, revisionsOf, takenNumbers } from './stored-revisions.ts'

interface WantedContent {
  readonly content: RevisionContent
  readonly hasLookups: boolean
  /** The API versions that the chart asked about. */
  readonly apis: NonNullable<InstallationStatus['apis']>
}

/** The source is rendered again once these are stored. */
interface RecordedFirst {
  readonly waitsFor: string
  readonly records: readonly UntypedObject[]
}

/** @throws the errors of the source, its values and its templates */
export async function wantedContent(
  context: LiveContext<InstallationObject>,
  task: Task<SourceRequest, RenderedSource>,
  fixed: FixedVersion | undefined,
): Promise<WantedContent | RecordedFirst> {
  const { cr, view, now, held } = context
  const secrets = sourceCredentials(cr, view)
  let first: RecordedFirst | undefined
  let hasLookups = false
  let apis: WantedContent['apis'] = {}
  const render = async (release: ReleaseRevision | undefined): Promise<RevisionContent | undefined> => {
    const request = sourceRequest(cr, view, generatedValues(cr, view), fixed)
    const found = await renderWithLookups(release ? { ...request, release } : request, {
      cr,
      view,
      reader: held,
      as: accountOf(cr),
      render: async (one) => {
        const answered = await renderForCluster(one, {
          reader: held,
          spec: cr.spec,
          known: cr.status?.apis ?? {},
          revisions: revisionsOf(cr, view),
          render: (asked) => context.result(task, asked, { secrets }),
        })
        apis = answered.apis
        return answered.rendered
      },
    })
    first = recordedFirst(cr, view, found)
    hasLookups = found.hasLookups
    return first ? undefined : contentWith(found.rendered, cr, generatedValues(cr, view))
  }
  const numberOf = (content: RevisionContent): number => chosenFor(cr, view, content, now).attempt.revision
  const content = await renderRelease(cr, revisionsOf(cr, view), render, numberOf)
  if (first) return first
  return { content: content!, hasLookups, apis }
}

function recordedFirst(
  cr: InstallationObject,
  view: View,
  { rendered, added }: Awaited<ReturnType<typeof renderWithLookups>>,
): RecordedFirst | undefined {
  if (added) return { waitsFor: 'Objects that the chart looked up are being recorded.', records: added() }
  if (equalJson(rendered.generated, generatedValues(cr, view))) return undefined
  // Stored before the first revision that uses them: the next render gets them back.
  const records = addedValues(cr, view, rendered.generated)
  return { waitsFor: 'Values that the chart generated are being stored.', records }
}

function contentWith(
  { name, version, items, notes }: RenderedSource,
  { spec }: InstallationObject,
  generated: NonNullable<RevisionContent['generated']>,
): RevisionContent {
  return {
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    items: [...items, ...extraItems(spec)],
    notes,
    ...(Object.keys(generated).length > 0 && { generated }),
  }
}

function extraItems({ extraObjects }: InstallationObject['spec']): readonly RevisionItem[] {
  return extraObjects.map((object, index) => {
    const place = `spec.extraObjects[${index}]`
    if (!isJsonObject(object)) return fail('InvalidObject', `${place}: it is no object.`)
    const problem = problemOfObject(object)
    return problem === undefined ? { object: asObject(object) } : fail('InvalidObject', `${place}: ${problem}.`)
  })
}

function problemOfObject({ apiVersion, kind, metadata }: JsonObject): string | undefined {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return 'it has no apiVersion or no kind'
  return isJsonObject(metadata) && typeof metadata['name'] === 'string' ? undefined : 'it has no metadata.name'
}

/** The revision that is active if this content is wanted. */
export function chosenFor(cr: InstallationObject, view: View, content: RevisionContent, now: number): Choice {
  const { spec, status = {}, metadata } = cr
  const wanted = {
    digest: contentDigest(content),
    generation: metadata.generation ?? 0,
    taken: takenNumbers(cr, content, view),
  }
  return chooseRevision(wanted, revisionsOf(cr, view).map(knownRevision), status, spec.remediation, now)
}
