/** What the source of an Installation is rendered with: files, values, credentials, and values that charts generated before. */
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { tryLater } from '../../operator/failure.ts'
import type { ObjectName, View } from '../../operator/view/view.ts'
import type { GeneratedValues } from '../../render/generated/generated-values.ts'
import type { FixedVersion } from '../../render/source/moving-version.ts'
import { parseOciReference } from '../../render/source/oci-reference.ts'
import { registryLogin } from '../../render/source/registry-login.ts'
import type { InstallationObject, InstallationSource } from './installation.ts'
import type { SourceRequest } from './render-source.ts'
import type { TaskSecrets } from '../../operator/task/task.ts'
import { installationValues } from './values.ts'

/** A new value fetches again what has no fixed version. */
const requestedAnnotation = 'platform.muster.dev/requestedAt'

/** @param fixed what a version that may move was resolved to */
export function sourceRequest(
  cr: InstallationObject,
  view: View,
  generated: GeneratedValues,
  fixed?: FixedVersion,
): SourceRequest {
  const { spec, metadata } = cr
  const { kustomize, manifests } = spec.source
  const files = filesOf((kustomize ?? manifests)?.configMapRef?.name, metadata.namespace, view)
  // How often it is resolved says nothing about what it is.
  const { interval: _, ...source } = spec.source
  return {
    source,
    ...(fixed && { fixed }),
    ...(files && { files }),
    releaseName: spec.releaseName ?? metadata.name,
    namespace: spec.targetNamespace ?? metadata.namespace ?? 'default',
    values: installationValues(cr, view),
    generated,
    ...(spec.skipSchemaValidation && { skipSchemaValidation: true }),
    ...(spec.images && spec.images.length > 0 && { images: spec.images }),
    ...credentialsOwner(cr, view),
    ...requestedAt(cr),
  }
}

export function requestedAt({ metadata }: InstallationObject): Pick<SourceRequest, 'requestedAt'> {
  const at = metadata.annotations?.[requestedAnnotation]
  return at === undefined ? {} : { requestedAt: at }
}

function filesOf(
  name: string | undefined,
  namespace: string | undefined,
  view: View,
): Readonly<Record<string, string>> | undefined {
  if (name === undefined) return undefined
  const found = view.get(ConfigMap, { name, namespace })
  if (!found) return tryLater('SourceMissing', `ConfigMap ${namespace}/${name} of the source does not exist.`)
  return found.data ?? {}
}

/** Part of the key of the render: one Installation does not get what another one was allowed to fetch. */
export function credentialsOwner(
  { spec, metadata }: InstallationObject,
  view: View,
): Pick<SourceRequest, 'credentials'> {
  const name = (spec.source.oci ?? spec.source.helm)?.secretRef?.name
  const found = name === undefined ? undefined : view.get(Secret, { name, namespace: metadata.namespace })
  return found ? { credentials: `${found.metadata.uid} ${found.metadata.resourceVersion}` } : {}
}

export function sourceCredentials({ spec, metadata }: InstallationObject, view: View): TaskSecrets {
  const name = (spec.source.oci ?? spec.source.helm)?.secretRef?.name
  if (name === undefined) return {}
  const { namespace } = metadata
  const found = view.get(Secret, { name, namespace })
  if (!found) return tryLater('SourceMissing', `Secret ${namespace}/${name} of the source does not exist.`)
  const text = (key: string): string => Buffer.from(found.data?.[key] ?? '', 'base64').toString('utf8')
  const has = (key: string): boolean => found.data?.[key] !== undefined
  const ca = has('ca.crt') ? { ca: text('ca.crt') } : {}
  const login = has('.dockerconfigjson') ? text('.dockerconfigjson') : undefined
  if (login === undefined) {
    // A CA may be all that a server without a login needs.
    const isLogin = has('username') || has('password') || !has('ca.crt')
    return { ...ca, ...(isLogin && { username: text('username'), password: text('password') }) }
  }
  const host = hostOf(spec.source)
  const known = registryLogin(login, host)
  if (!known) return tryLater('SourceMissing', `Secret ${namespace}/${name} of the source has no login for ${host}.`)
  return { ...ca, username: known.username, password: known.password }
}

function hostOf({ oci, helm }: InstallationSource): string {
  return oci ? parseOciReference(oci.url).registry : (URL.parse(helm?.url ?? '')?.host ?? '')
}

/** The service account that reads and writes, if it is not the operator's own. */
export function accountOf({ metadata: { namespace }, spec }: InstallationObject): ObjectName | undefined {
  return spec.serviceAccountName === undefined ? undefined : { namespace, name: spec.serviceAccountName }
}
