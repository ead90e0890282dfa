/** Parts that all objects of an installation share: names, labels, metadata. */
import type { InstallationDescription } from './description.ts'
import { placeholder, type OpenObject, type TemplateMap } from './template.ts'

/** The name of the installation. */
export const ownName: string = placeholder('name')
export const ownNamespace: string = placeholder('namespace')

type Component = 'manager' | 'metrics' | 'webhooks' | 'monitoring'

/** By these the Pods of an installation are selected; they never change. */
export function selectorLabels({ name }: InstallationDescription): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/name': name, 'app.kubernetes.io/instance': ownName }
}

export function commonLabels(description: InstallationDescription, component: Component = 'manager'): TemplateMap {
  return {
    ...selectorLabels(description),
    'app.kubernetes.io/component': component,
    'app.kubernetes.io/version': description.version,
  }
}

/** Metadata in the namespace of the installation. */
export function ownMetadata(
  description: InstallationDescription,
  name: string,
  component?: Component,
): { readonly name: string; readonly namespace: string; readonly labels: OpenObject } {
  return { name, namespace: ownNamespace, labels: commonLabels(description, component) }
}
