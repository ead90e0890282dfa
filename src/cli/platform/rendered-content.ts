/** Renders an Installation in this process as its controller does: with its values, its files, and the values that its chart generated earlier. */
import { systemRandom } from '../../clock/random.ts'
import { servedApis, serverVersion } from '../../client/server-facts.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { managedByLabel } from '../../operator/dependent/desired.ts'
import { openView, type View } from '../../operator/view/view.ts'
import type { InstallationObject } from '../../platform/installation/installation.ts'
import { platformName } from '../../platform/installation/holder.ts'
import { knownReleases, type ReleaseRevision } from '../../platform/installation/release-revision.ts'
import { isChartSource, renderSource, type RenderedSource } from '../../platform/installation/render-source.ts'
import { Revision, type RevisionObject } from '../../platform/installation/revision.ts'
import { type ApiReader, renderForCluster } from '../../platform/installation/capabilities.ts'
import { type LookupReader, renderWithLookups } from '../../platform/installation/lookups.ts'
import { generatedValues } from '../../platform/installation/generated-secrets.ts'
import { sourceCredentials, sourceRequest } from '../../platform/installation/source-request.ts'
import { chartCacheFolder } from '../../render/source/cache-folder.ts'
import { createRenderThread } from '../../render/worker/render-thread.ts'
import { ifFound, type InstallationPlace } from './cluster-installation.ts'

/** @throws the errors of sources and of rendering */
export async function renderedContent(
  place: InstallationPlace,
  installation: InstallationObject,
): Promise<RenderedSource> {
  const view = await viewOf(place, installation)
  const request = sourceRequest(installation, view, generatedValues(installation, view))
  const thread = createRenderThread({ clock: systemClock })
  try {
    const services = {
      clock: systemClock,
      random: systemRandom,
      render: thread.render,
      cache: chartCacheFolder(process.env),
      env: process.env,
    }
    const options = { credentials: sourceCredentials(installation, view), signal: place.signal }
    const { revisions, release } = await releaseOf(place, installation)
    const { rendered } = await renderWithLookups(
      { ...request, ...(release && { release }) },
      {
        cr: installation,
        view,
        reader: readerOf(place),
        as: undefined,
        render: async (one) => {
          const asking = { reader: apiReader(place), spec: installation.spec, known: installation.status?.apis ?? {} }
          const render = (asked: typeof one): Promise<RenderedSource> => renderSource(asked, services, options)
          return (await renderForCluster(one, { ...asking, revisions, render })).rendered
        },
        isRecording: false,
      },
    )
    return rendered
  } finally {
    await thread.close()
  }
}

/** It is rendered as the newest revision: that its number changes with the next one is no difference. */
async function releaseOf(
  { client, ref: { namespace }, signal }: InstallationPlace,
  installation: InstallationObject,
): Promise<{ readonly revisions: readonly RevisionObject[]; readonly release: ReleaseRevision | undefined }> {
  if (!isChartSource(installation.spec.source)) return { revisions: [], release: undefined }
  const { items } = await client.list<RevisionObject>(Revision, { namespace, signal })
  const revisions = items
    .filter(({ spec }) => spec.installation === installation.metadata.name)
    .toSorted((a, b) => a.spec.number - b.spec.number)
  const [newest] = knownReleases(installation, revisions)
  return { revisions, release: newest && { revision: newest.revision, isUpgrade: newest.isUpgrade } }
}

function apiReader({ client, signal }: InstallationPlace): ApiReader {
  return {
    async served(apis) {
      const known = new Set((await client.discovery.resources({ signal })).flatMap(servedApis))
      return apis?.filter((api) => known.has(api)) ?? [...known].toSorted()
    },
    serverVersion: () => serverVersion(client, { signal }),
  }
}

/** Objects that the chart looks up are read with the rights of the user. */
function readerOf({ client, signal }: InstallationPlace): LookupReader {
  return {
    resourceOf: (kind) => client.discovery.resourceFor(kind),
    read: (resource, name) => ifFound<UntypedObject>(client.get(resource, name, { signal })),
    async page(resource, { namespace, limit } = {}) {
      const { items, metadata } = await client.listPage(resource, { namespace, limit, signal })
      return { items, next: metadata.continue || undefined }
    },
  }
}

/** The ConfigMaps and Secrets that the Installation refers to. */
async function viewOf(
  { client, ref, signal }: InstallationPlace,
  { spec, metadata }: InstallationObject,
): Promise<View> {
  const { kustomize, manifests, oci, helm } = spec.source
  const maps = [kustomize?.configMapRef?.name, manifests?.configMapRef?.name, ...namesOf(spec.valuesFrom, 'ConfigMap')]
  const secrets = [oci?.secretRef?.name, helm?.secretRef?.name, ...namesOf(spec.valuesFrom, 'Secret')]
  const objects = new Map<string, KubeObject>()
  const wanted: readonly (readonly [Resource, readonly (string | undefined)[]])[] = [
    [ConfigMap, maps],
    [Secret, secrets],
  ]
  for (const [kind, names] of wanted) {
    for (const name of new Set(names)) {
      if (name === undefined) continue
      const object = await ifFound(client.get(kind, { name, namespace: ref.namespace }, { signal }))
      if (object) objects.set(`${kind.kind}/${name}`, object)
    }
  }
  // What charts made up before: an Installation that does not exist yet has none.
  const { items: own } =
    metadata.uid === undefined
      ? { items: [] }
      : await client.list(Secret, {
          namespace: ref.namespace,
          labelSelector: `${managedByLabel}=${platformName}`,
          signal,
        })
  return openView({
    reader: 'muster diff',
    inputs: [ConfigMap, Secret],
    source: {
      get: ({ kind }, { name }) => objects.get(`${kind}/${name}`),
      list: () => [],
      byOwner: (_kind, uid) =>
        own.filter((secret) => secret.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false),
      serves: () => true,
    },
  })
}

function namesOf(
  references: InstallationObject['spec']['valuesFrom'],
  kind: 'ConfigMap' | 'Secret',
): readonly string[] {
  return references.filter((one) => one.kind === kind).map(({ name }) => name)
}
