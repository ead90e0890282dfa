/**
 * DefaultIngressClass: an Ingress without a class gets the default class, if there is one; of several the newest, then
 * the first by name.
 */
import type { UntypedObject } from '../../kube/object.ts'
import type { AdmissionPlugin } from '../cluster/admission.ts'

const isDefault = 'ingressclass.kubernetes.io/is-default-class'
const classAnnotation = 'kubernetes.io/ingress.class'

export function withIngressClass(ingress: UntypedObject, classes: readonly UntypedObject[]): UntypedObject {
  const spec = (ingress['spec'] ?? {}) as { readonly ingressClassName?: string }
  if (spec.ingressClassName !== undefined) return ingress
  if (Object.hasOwn(ingress.metadata.annotations ?? {}, classAnnotation)) return ingress
  const [best] = classes
    .filter(({ metadata }) => metadata.annotations?.[isDefault] === 'true')
    .toSorted(
      (a, b) =>
        compare(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
        compare(a.metadata.name, b.metadata.name),
    )
  return best ? { ...ingress, spec: { ...spec, ingressClassName: best.metadata.name } } : ingress
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export const defaultIngressClass: AdmissionPlugin = {
  name: 'DefaultIngressClass',
  mutate: ({ storage }, { operation, served, subresource, object }) =>
    operation === 'CREATE' && served.table === 'ingresses.networking.k8s.io' && subresource === ''
      ? withIngressClass(object, storage.table('ingressclasses.networking.k8s.io').objects())
      : object,
}
