/** The names of the operators of façades: their field managers, and what a configuration lists. */
export const facadeNames = { openDataHub: 'muster-open-data-hub', kyma: 'muster-kyma' } as const

/** On the CRD of a façade: a definition of the same name without it belongs to the other project. */
export const facadeAnnotation = 'platform.muster.dev/facade'
