/** The public API of the workloads package; README.md describes its sub-packages. `operator` is what a manager hosts. */
export { codeflareComponent } from './codeflare-component.ts'
export { workloadsConfig, type WorkloadsSettings } from './configuration/workloads-config.ts'
export { QuotaSubtree, type QuotaSubtreeObject } from './quota/quota-subtree.ts'
export { workloadsOperator as operator } from './workloads-operator.ts'
