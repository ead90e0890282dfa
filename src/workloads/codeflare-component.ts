/**
 * The operator of workloads as a component of a Platform, under the name that Open Data Hub gives it: `codeflare`. It stands
 * here, since the platform knows no operator of a layer above.
 */
import type { UntypedObject } from '../kube/object.ts'
import { catalogueObjects } from '../platform/bundled/bundled-component.ts'
import { operatorVersion, ownVersion } from '../platform/bundled/operator-component.ts'
import { workloadsOperator } from './workloads-operator.ts'

/** The Component and its version, as they are applied to a cluster, beside those of `bundledComponents`. */
export function codeflareComponent(): readonly UntypedObject[] {
  return catalogueObjects({
    name: 'codeflare',
    title: 'CodeFlare workloads',
    description: 'AppWrappers, their queue and quota: an operator of Muster, in a Pod of its own.',
    channels: { stable: ownVersion },
    versions: {
      [ownVersion]: operatorVersion({
        operator: workloadsOperator,
        module: '@muster-dev/muster/workloads',
        hasSettings: true,
        memoryLimit: '1Gi',
      }),
    },
    preinstalled: { olmPackages: ['codeflare-operator'] },
  })
}
