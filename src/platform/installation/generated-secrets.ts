/**
 * Values that charts made up, in Secrets: `NAME-generated.0`, and one more for each render that added some. They are immutable, so
 * that a process whose cache is behind cannot replace a password by another one: the API server refuses it.
 */
import { Secret } from '../../kube/kinds.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { fail } from '../../operator/failure.ts'
import type { View } from '../../operator/view/view.ts'
import type { GeneratedValues } from '../../render/generated/generated-values.ts'
import type { InstallationObject } from './installation.ts'
import { metadataAt, revisionsOf, storedContent } from './stored-revisions.ts'

const generatedType = 'platform.muster.dev/generated'

function secretsOf(cr: InstallationObject, view: View): readonly { readonly index: number; readonly secret: Secret }[] {
  const prefix = `${cr.metadata.name}-generated.`
  return view
    .ownedBy(Secret, cr)
    .filter(({ type, metadata }) => type === generatedType && metadata.name.startsWith(prefix))
    .map((secret) => ({ index: Number.parseInt(secret.metadata.name.slice(prefix.length), 10), secret }))
    .toSorted((a, b) => a.index - b.index)
}

/** All that is stored. */
export function generatedValues(cr: InstallationObject, view: View): GeneratedValues {
  const parts = secretsOf(cr, view).map(({ secret }) => valuesIn(secret))
  const all = parts.flatMap((part) => Object.entries(part))
  return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function valuesIn({ metadata, data = {} }: Secret): GeneratedValues {
  try {
    return JSON.parse(Buffer.from(data['values'] ?? '', 'base64').toString('utf8')) as GeneratedValues
  } catch {
    // Without the cause, which quotes the values.
    return fail(
      'InvalidGeneratedValues',
      `Secret ${metadata.name} with values that the chart generated cannot be read. Restore it, or delete it: they come back from the latest revision.`,
    )
  }
}

/** The Secrets as they are. */
export function storedValues(cr: InstallationObject, view: View): readonly UntypedObject[] {
  return secretsOf(cr, view).map(({ secret }) =>
    asObject({ ...asJson(secret), metadata: asJson(metadataAt(secret.metadata.name, secret.metadata.namespace)) }),
  )
}

/**
 * One more Secret, with the values that are not stored yet. Those of a Secret that was deleted come back from the revisions that
 * used them.
 */
export function addedValues(cr: InstallationObject, view: View, values: GeneratedValues): readonly UntypedObject[] {
  const stored = generatedValues(cr, view)
  const all = { ...values, ...usedValues(cr, view) }
  const added = Object.fromEntries(Object.entries(all).filter(([site]) => !Object.hasOwn(stored, site)))
  if (Object.keys(added).length === 0) return []
  const index = (secretsOf(cr, view).at(-1)?.index ?? -1) + 1
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: metadataAt(`${cr.metadata.name}-generated.${index}`, cr.metadata.namespace),
      type: generatedType,
      immutable: true,
      data: { values: Buffer.from(JSON.stringify(added)).toString('base64') },
    },
  ]
}

/** The values of the newest revision that can be read. */
function usedValues(cr: InstallationObject, view: View): GeneratedValues {
  for (const revision of revisionsOf(cr, view).toReversed()) {
    try {
      return storedContent(revision, view).generated ?? {}
    } catch {
      // Its content is lost, too: an older one may have them.
    }
  }
  return {}
}
