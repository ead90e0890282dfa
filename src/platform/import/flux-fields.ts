/** Fields that HelmReleases and Kustomizations of Flux share. */
import type { FieldReader } from './field-reader.ts'
import type { DriftException, HealthExpressions, InstallationManifestSpec } from './installation-manifest.ts'

export function dependencies(fields: FieldReader, own: string | undefined): InstallationManifestSpec['dependsOn'] {
  const list = fields.each(
    'spec.dependsOn',
    { readyExpr: 'a dependency is ready when its Installation is' },
    (item) => {
      const name = item.text('name')
      if (name === undefined) {
        item.note('', 'it must have a name')
        return undefined
      }
      const namespace = item.text('namespace')
      return { name, namespace: namespace === own ? undefined : namespace }
    },
  )
  return list.length === 0 ? undefined : list
}

export function driftExceptions(fields: FieldReader, path: string): readonly DriftException[] | undefined {
  const noVersion = 'kinds are compared without their version'
  const list = fields.each<DriftException>(
    path,
    { 'target.version': noVersion, 'target.annotationSelector': 'objects are selected by labels' },
    (item) => {
      const paths = item.texts('paths')
      if (paths.length === 0) {
        item.note('paths', 'it needs paths')
        return undefined
      }
      const target = {
        group: item.text('target.group'),
        kind: item.text('target.kind'),
        name: item.text('target.name'),
        namespace: item.text('target.namespace'),
        labelSelector: item.text('target.labelSelector'),
      }
      return { paths, target: Object.values(target).every((one) => one === undefined) ? undefined : target }
    },
  )
  return list.length === 0 ? undefined : list
}

export function healthExpressions(fields: FieldReader): readonly HealthExpressions[] | undefined {
  const list = fields.each<HealthExpressions>('spec.healthCheckExprs', {}, (item) => {
    const [apiVersion, kind] = [item.text('apiVersion'), item.text('kind')]
    if (apiVersion === undefined || kind === undefined) {
      item.note('', 'it must have apiVersion and kind')
      return undefined
    }
    return {
      apiVersion,
      kind,
      current: item.text('current'),
      failed: item.text('failed'),
      inProgress: item.text('inProgress'),
    }
  })
  return list.length === 0 ? undefined : list
}
