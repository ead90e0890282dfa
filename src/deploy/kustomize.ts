/**
 * The kustomize base, and two further parts: the CRDs, which outlive the manager, and a component with the objects of
 * the Prometheus operator.
 */
import type { Json, JsonObject } from '../kube/json.ts'
import { writeYaml } from '../kube/yaml/yaml.ts'
import type { InstallationDescription } from './description.ts'
import { installationObjects, type ObjectGroup, resolvedObjects, releaseScope } from './installation.ts'
import { resolve } from './template.ts'
import { defaultValues, valueTable, withValue } from './values.ts'
import { namespaceObject } from './workload.ts'

/** Helm alone has a policy for what it keeps; everything else is chosen by applying the files of its group. */
const plainValues: readonly (readonly [path: string, value: Json])[] = [
  ['crds.keep', false],
  ['serviceMonitor.enabled', true],
  ['prometheusRule.enabled', true],
  ['dashboard.enabled', true],
]

/** The objects of each file of a group, with the default values. */
export function plainObjects(
  description: InstallationDescription,
  group: ObjectGroup,
): ReadonlyMap<string, readonly JsonObject[]> {
  const defaults = defaultValues(valueTable(description))
  const values = plainValues.reduce((all, [path, value]) => withValue(all, path.split('.'), value), defaults)
  const scope = releaseScope(values, description)
  const files = installationObjects(description)
    .filter((file) => file.group === group)
    .map((file) => [file.name, resolvedObjects([file], scope)] as const)
    .filter(([, objects]) => objects.length > 0)
  const namespace = resolve(namespaceObject(description), scope) as JsonObject
  return new Map(group === 'manager' ? [['namespace', [namespace]], ...files] : files)
}

export function yamlDocuments(objects: readonly JsonObject[]): string {
  return objects.map((object) => `---\n${writeYaml(object)}`).join('')
}

export function kustomizeFiles(description: InstallationDescription): ReadonlyMap<string, string> {
  const part = (
    folder: string,
    group: ObjectGroup,
    kind: 'Kustomization' | 'Component',
  ): readonly [string, string][] => {
    const files = [...plainObjects(description, group)]
    if (files.length === 0) return []
    const apiVersion = kind === 'Component' ? 'kustomize.config.k8s.io/v1alpha1' : 'kustomize.config.k8s.io/v1beta1'
    const resources = files.map(([name]) => `${name}.yaml`)
    return [
      [`${folder}/kustomization.yaml`, writeYaml({ apiVersion, kind, resources })],
      ...files.map(([name, objects]): [string, string] => [`${folder}/${name}.yaml`, yamlDocuments(objects)]),
    ]
  }
  return new Map([
    ...part('crds', 'crds', 'Kustomization'),
    ...part('base', 'manager', 'Kustomization'),
    ...part('monitoring', 'monitoring', 'Component'),
  ])
}
