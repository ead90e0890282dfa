/** The node scaler, for people who come from InstaScale. `operator` is what a manager hosts, beside the operator of workloads. */
export { ManagedNodePool, type ManagedNodePoolObject } from './scaler/managed-node-pool.ts'
export { nodeScalerOperator as operator } from './scaler/scaler-operator.ts'
