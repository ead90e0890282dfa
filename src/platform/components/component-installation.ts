/** The Installation of a component: what its version says, with the values of the Platform. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ComponentVersionObject } from '../catalogue/component-version.ts'
import { componentLabel, defaultsLabel } from '../catalogue/component-controller.ts'
import { Installation, type InstallationObject } from '../installation/installation.ts'
import { createOnce, policyAnnotation } from '../installation/object-annotations.ts'
import { mergedValues } from '../installation/values.ts'
import type { PlatformComponent } from './platform.ts'

/** The version that was healthy last; undefined if none was. After an upgrade that failed it is the one before. */
export function installedVersion({ status }: InstallationObject): string | undefined {
  return status?.releaseVersion
}

/** The version that the Installation was told to install. */
export function declaredVersion({ spec }: InstallationObject): string | undefined {
  return spec.releaseVersion
}

/** The versions of which objects may be on the cluster. */
export function presentVersions(installation: InstallationObject | undefined): readonly string[] {
  const versions = installation ? [declaredVersion(installation), installedVersion(installation)] : []
  return [...new Set(versions.filter((one) => one !== undefined))]
}

/** Fields that users may set on Deployments and StatefulSets, and keep. */
const usersFields = [
  { group: 'apps', kind: 'Deployment' },
  { group: 'apps', kind: 'StatefulSet' },
].map((target) => ({ target, paths: ['/spec/replicas', '/spec/template/spec/containers/*/resources'] }))

export function componentInstallation(
  component: PlatformComponent,
  { spec }: ComponentVersionObject,
  namespace: string,
): UntypedObject {
  const { name, managementState, values, valuesFrom, customResourcePolicy } = component
  const {
    version,
    source,
    namespace: target = namespace,
    defaultResource,
    readiness,
    timeout,
    serviceAccountName,
  } = spec
  const merged = mergedValues(objectOr(spec.values), objectOr(values))
  const extraObjects: Json[] = target === namespace ? [] : [namespaceObject(target)]
  if (defaultResource !== undefined && customResourcePolicy === 'CreateAndDelete') {
    extraObjects.push(createdOnce(defaultResource))
  }
  return installationObject(name, namespace, {
    source: asJson(source),
    releaseName: name,
    releaseVersion: version,
    targetNamespace: target,
    ...(Object.keys(merged).length > 0 && { values: merged }),
    valuesFrom: valuesFrom.map((one) => asJson(one)),
    extraObjects,
    health: readiness.map((one) => asJson(one)),
    timeout,
    drift: { ignore: usersFields },
    ...(serviceAccountName !== undefined && { serviceAccountName }),
    ...(managementState === 'Adopt' && { adopt: { anyOwner: true } }),
    uninstall: false,
    deletion: 'delete',
  })
}

/** No component has a dot in its name. They stay when it ends: then they belong to users alone. */
export function defaultsInstallation(component: string, resources: readonly Json[], namespace: string): UntypedObject {
  return {
    apiVersion: formatApiVersion(Installation),
    kind: Installation.kind,
    metadata: { name: `${component}.defaults`, namespace, labels: { [defaultsLabel]: component } },
    spec: {
      source: { manifests: { text: resources.map((one) => JSON.stringify(createdOnce(one))).join('\n---\n') } },
      targetNamespace: namespace,
      deletion: 'orphan',
    },
  }
}

/** As it is, with other fields: for a component that leaves, whose version may be published no more. */
export function changedInstallation({ metadata, spec }: InstallationObject, change: JsonObject): UntypedObject {
  return installationObject(metadata.name, metadata.namespace ?? '', { ...asJson(spec), ...change })
}

function installationObject(name: string, namespace: string, spec: JsonObject): UntypedObject {
  return {
    apiVersion: formatApiVersion(Installation),
    kind: Installation.kind,
    metadata: { name, namespace, labels: { [componentLabel]: name } },
    spec,
  }
}

function objectOr(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** It stays when the component goes: it may hold objects of users. */
function namespaceObject(name: string): Json {
  const annotations = { [policyAnnotation]: 'create-only', 'platform.muster.dev/prune': 'disabled' }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, annotations } }
}

/** The first custom object belongs to users once it exists: it is neither changed nor created again. */
function createdOnce(object: Json): Json {
  if (!isJsonObject(object)) return object
  const { metadata } = object
  const { annotations, ...rest } = objectOr(metadata)
  return {
    ...object,
    metadata: { ...rest, annotations: { ...objectOr(annotations), [policyAnnotation]: createOnce } },
  }
}
