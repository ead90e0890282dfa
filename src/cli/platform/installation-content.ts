/** The revisions of an Installation in a cluster, and their content. */
import { Secret } from '../../kube/kinds.ts'
import { MusterError } from '../../kube/muster-error.ts'
import {
  chunkName,
  contentOf,
  Revision,
  type RevisionContent,
  type RevisionObject,
} from '../../platform/installation/revision.ts'
import { cliErrors } from '../errors.ts'
import { ifFound, type InstallationPlace } from './cluster-installation.ts'

/** The oldest first. */
export async function revisionsOfInstallation({
  client,
  ref,
  signal,
}: InstallationPlace): Promise<readonly RevisionObject[]> {
  const { items } = await client.list<RevisionObject>(Revision, { namespace: ref.namespace, signal })
  return items.filter(({ spec }) => spec.installation === ref.name).toSorted((a, b) => a.spec.number - b.spec.number)
}

/** What was rendered for a revision. @throws RevisionNotFound */
export async function revisionContent(place: InstallationPlace, number: number): Promise<RevisionContent> {
  const { client, ref, signal } = place
  const name = `${ref.name}-${number}`
  const at = (one: string) => ({ name: one, namespace: ref.namespace })
  const revision = await ifFound(client.get<RevisionObject>(Revision, at(name), { signal }))
  if (!revision) throw missing(`Revision ${ref.namespace}/${name} is missing.`)
  const indexes = Array.from({ length: revision.spec.chunks }, (_, index) => index)
  const chunks = await Promise.all(
    indexes.map((index) => ifFound(client.get<Secret>(Secret, at(chunkName(name, index)), { signal }))),
  )
  try {
    return contentOf(revision, chunks)
  } catch (error) {
    throw missing(error instanceof Error ? error.message : String(error), error)
  }
}

function missing(message: string, cause?: unknown): MusterError {
  return new MusterError(cliErrors.RevisionNotFound, message, { cause })
}
