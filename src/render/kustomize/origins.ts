/** `buildMetadata`: annotations that say which file an object comes from, and which transformations it went through. */
import { posix } from 'node:path'
import type { BuildResource } from './model/resource.ts'

/** Where a kustomization is, seen from the one that is built. */
export class Origins {
  private readonly path: string
  private readonly fileName: string
  private readonly isKept: boolean

  /** @param isKept whether the kustomization that is built has `buildMetadata` */
  constructor(path: string, fileName: string, isKept: boolean) {
    this.path = path
    this.fileName = fileName
    this.isKept = isKept
  }

  within(path: string, fileName: string): Origins {
    return new Origins(posix.join(this.path, path), fileName, this.isKept)
  }

  ofFile(path: string): string | undefined {
    return this.isKept ? `path: ${posix.join(this.path, path)}\n` : undefined
  }

  ofBuiltin(kind: string): string | undefined {
    if (!this.isKept) return undefined
    const file = posix.join(this.path, this.fileName)
    return `configuredIn: ${file}\nconfiguredBy:\n  apiVersion: builtin\n  kind: ${kind}\n`
  }

  note(resource: BuildResource, transformer: string): void {
    const origin = this.ofBuiltin(transformer)
    if (origin !== undefined) resource.transformations.push(origin)
  }
}

const originAnnotation = 'config.kubernetes.io/origin'
const transformationsAnnotation = 'alpha.config.kubernetes.io/transformations'
const internal =
  /^(?:internal\.config\.kubernetes\.io\/|config\.kubernetes\.io\/(?:index|path|id|origin)$|alpha\.config\.kubernetes\.io\/transformations$)/

/** The annotations of a finished object: texts, without those that are only used while building. */
export function finishAnnotations(resource: BuildResource, buildMetadata: readonly string[]): void {
  const annotations = resource.textMap('annotations')
  for (const name of annotations.keys()) if (internal.test(name)) annotations.delete(name)
  if (buildMetadata.includes('originAnnotations') && resource.origin !== undefined) {
    annotations.set(originAnnotation, resource.origin)
  }
  if (buildMetadata.includes('transformerAnnotations') && resource.transformations.length > 0) {
    annotations.set(transformationsAnnotation, resource.transformations.map(asItem).join(''))
  }
  resource.setTextMap('annotations', annotations)
}

function asItem(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line, index) => `${index === 0 ? '- ' : '  '}${line}\n`)
    .join('')
}
