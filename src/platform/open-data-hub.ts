/** The façade for people who come from Open Data Hub. `operator` is what a manager hosts, beside the operator of the platform. */
export { DataScienceCluster, type DataScienceClusterObject } from './facade/data-science-cluster.ts'
export { openDataHubOperator as operator } from './facade/operators.ts'
