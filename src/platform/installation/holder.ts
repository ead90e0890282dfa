/** How objects in the cluster name the Installation that they belong to. */
import { hash } from 'node:crypto'

/** The name of the operator: its field manager, and the label of its own objects. */
export const platformName = 'muster-platform'

export const holderLabel = 'platform.muster.dev/installation'

/** On an Installation of a Platform, with the name of that. */
export const platformLabel = 'platform.muster.dev/platform'

/** On an object that an Installation has let go, with the name of that: it may be taken back. */
export const releasedAnnotation = 'platform.muster.dev/released-by'

interface Place {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
}

/** The value of the label: readable, and unique in the cluster. */
export function installationHolder({ name = '', namespace = '' }: Place): string {
  const whole = `${namespace}.${name}`
  return whole.length <= 63 ? whole : `${whole.slice(0, 46)}.${hash('sha256', whole).slice(0, 16)}`
}

/** `Deployment shop/web`. */
export function objectPlace({ kind, name, namespace }: Place & { readonly kind: string }): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
}
