/** The public API of the platform package; README.md describes its sub-packages. `operator` is what a manager hosts. */
export { Component, type ComponentObject } from './catalogue/component.ts'
export { ComponentVersion, type ComponentVersionObject } from './catalogue/component-version.ts'
export { Platform, type PlatformObject } from './components/platform.ts'
export { bundledComponents } from './bundled/bundled-components.ts'
export { componentsOperator } from './components/operator.ts'
export {
  Installation,
  type InstallationObject,
  type InstallationSource,
  type InstallationSpec,
  type InstallationStatus,
} from './installation/installation.ts'
export { Revision, type RevisionObject } from './installation/revision.ts'
export { installationOperator } from './installation/operator.ts'
export type { SourceServices } from './installation/render-source.ts'
export { platformOperator as operator } from './platform-operator.ts'
