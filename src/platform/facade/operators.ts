/** The operators of the façades: each is hosted only where a configuration lists it. */
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { DataScienceCluster, type DataScienceClusterObject } from './data-science-cluster.ts'
import { dataScienceClusterReport } from './data-science-cluster-report.ts'
import type { ComponentNames, FacadeDesiredState } from './desired-component.ts'
import { facadeController } from './facade-controller.ts'
import { facadeNames } from './facade-names.ts'
import { Kyma, type KymaObject } from './kyma.ts'
import { kymaReport } from './kyma-report.ts'

export const openDataHubOperator: Operator = defineOperator({
  name: facadeNames.openDataHub,
  controllers: [
    facadeController({
      for: DataScienceCluster,
      namesAnnotation: 'platform.muster.dev/open-data-hub-names',
      desiredState: clusterDesiredState,
      known: ({ status }, names) => Object.keys(status?.components ?? {}).map(names),
      status: dataScienceClusterReport,
    }),
  ],
})

export const kymaOperator: Operator = defineOperator({
  name: facadeNames.kyma,
  controllers: [
    facadeController({
      for: Kyma,
      namesAnnotation: 'platform.muster.dev/kyma-names',
      desiredState: kymaDesiredState,
      known: ({ status }, names) => (status?.modules ?? []).map(({ name }) => names(name)),
      status: kymaReport,
    }),
  ],
})

function clusterDesiredState({ spec }: DataScienceClusterObject, names: ComponentNames): FacadeDesiredState {
  // A map has no order of its own, and a list has one.
  const entries = Object.entries(spec.components ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return {
    components: entries.map(([alias, { managementState }]) => ({
      alias,
      component: names(alias),
      managementState: managementState || 'Removed',
    })),
    ignored: entries.flatMap(([alias, fields]) =>
      Object.keys(fields).flatMap((field) =>
        field === 'managementState' ? [] : [`spec.components.${alias}.${field}`],
      ),
    ),
  }
}

/** The channel is part of each entry: the channel of the Platform is that of components that no Kyma lists. */
function kymaDesiredState({ spec }: KymaObject, names: ComponentNames): FacadeDesiredState {
  return {
    components: spec.modules.map((module) => ({
      alias: module.name,
      component: names(module.name),
      managementState: module.managed ? 'Managed' : 'Unmanaged',
      channel: module.channel ?? spec.channel,
      version: module.version,
      customResourcePolicy: module.customResourcePolicy,
    })),
    skipsMaintenance: spec.skipMaintenanceWindows ?? false,
    ignored: spec.modules.flatMap(({ name, controller, remoteModuleTemplateRef }) => [
      ...(controller === undefined ? [] : [`spec.modules[${name}].controller`]),
      ...(remoteModuleTemplateRef === undefined ? [] : [`spec.modules[${name}].remoteModuleTemplateRef`]),
    ]),
  }
}
