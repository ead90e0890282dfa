/** The façade for people who come from Kyma. `operator` is what a manager hosts, beside the operator of the platform. */
export { Kyma, type KymaObject } from './facade/kyma.ts'
export { kymaOperator as operator } from './facade/operators.ts'
