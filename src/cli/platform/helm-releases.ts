/** Releases of Helm in a cluster: found by the labels of their Secrets. */
import { Secret } from '../../kube/kinds.ts'
import { asObject } from '../../kube/json-object.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { platformErrors } from '../../platform/errors.ts'
import type { HelmRelease } from '../../platform/helm-release/helm-release.ts'
import {
  decodeReleaseSecret,
  encodeReleaseSecret,
  isReleaseSecret,
} from '../../platform/helm-release/release-secret.ts'
import { readManifests } from '../../render/manifests/plain-manifests.ts'
import { ifFound, type InstallationPlace } from './cluster-installation.ts'

/** The Secrets of all revisions. */
async function releaseSecrets({ client, ref, signal }: InstallationPlace, name: string): Promise<readonly Secret[]> {
  const { items } = await client.list<Secret>(Secret, {
    namespace: ref.namespace,
    labelSelector: `owner=helm,name=${name}`,
    signal,
  })
  return items.filter(isReleaseSecret)
}

/** The revision that is deployed. @throws InvalidHelmRelease if there is none */
export async function deployedRelease(place: InstallationPlace, name: string): Promise<HelmRelease> {
  const releases = (await releaseSecrets(place, name)).map((secret) => decodeReleaseSecret(secret))
  const found = releases.toSorted((a, b) => b.revision - a.revision).find(({ status }) => status === 'deployed')
  if (found) return found
  const states = releases.length === 0 ? 'there is none' : 'none of its revisions is deployed'
  throw new MusterError(
    platformErrors.InvalidHelmRelease,
    `Release ${place.ref.namespace}/${name} cannot be taken over: ${states}.`,
  )
}

/** The objects of a release, hooks excluded. */
export function releaseObjects({ manifest, name }: HelmRelease): readonly UntypedObject[] {
  return readManifests([{ name: `release ${name}`, text: manifest }]).map(({ object }) => asObject(object))
}

const keptType = 'platform.muster.dev/helm-release'

const keptName = (name: string): string => `${name}-helm-release`

const originAnnotation = 'platform.muster.dev/release-secret'

/** Keeps what Helm has stored about a release in a Secret of ours, so that it can be given back. */
export async function keepRelease(place: InstallationPlace, release: HelmRelease, fieldManager: string): Promise<void> {
  const { client, ref, signal } = place
  const stored = encodeReleaseSecret(release)
  const kept = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: keptType,
    metadata: {
      name: keptName(release.name),
      namespace: ref.namespace,
      annotations: { [originAnnotation]: stored.metadata.name ?? '' },
    },
    data: { ...stored.data },
  }
  await client.apply(Secret, kept, { fieldManager, force: true, signal })
}

/** Helm does not see the release any more. */
export async function hideRelease(place: InstallationPlace, name: string): Promise<void> {
  const { client, ref, signal } = place
  for (const { metadata } of await releaseSecrets(place, name)) {
    await ifFound(client.delete(Secret, { name: metadata.name, namespace: ref.namespace }, { signal }))
  }
}

/** What was kept of a release. @throws InvalidHelmRelease */
export async function keptRelease({ client, ref, signal }: InstallationPlace, name: string): Promise<HelmRelease> {
  const { namespace } = ref
  const kept = await ifFound(client.get<Secret>(Secret, { name: keptName(name), namespace }, { signal }))
  const origin = kept?.metadata.annotations?.[originAnnotation]
  if (!kept || origin === undefined) {
    throw new MusterError(
      platformErrors.InvalidHelmRelease,
      `Release ${namespace}/${name} cannot be given back: it was not taken over, or Secret ${keptName(name)} is gone.`,
    )
  }
  return decodeReleaseSecret({ ...kept, type: 'helm.sh/release.v1', metadata: { name: origin, namespace } })
}

export async function forgetRelease({ client, ref, signal }: InstallationPlace, name: string): Promise<void> {
  await ifFound(client.delete(Secret, { name: keptName(name), namespace: ref.namespace }, { signal }))
}
