/** One render of plain manifests, a kustomization or a folder of an artifact as data: what a thread is asked for. */
import type { JsonObject } from '../../kube/json.ts'
import type { ChartFiles } from '../archive/archive.ts'
import { renderKustomization } from '../kustomize/render-kustomization.ts'
import { readManifests } from '../manifests/plain-manifests.ts'
import { type ArtifactKind, renderFolder } from '../source/artifact-folder.ts'

export interface FolderRequest {
  /** Named if the render is stopped. */
  readonly name: string
  readonly content:
    | { readonly manifests: readonly { readonly name: string; readonly text: string }[] }
    | { readonly kustomization: ChartFiles; readonly folder: string }
    | {
        readonly artifact: ChartFiles
        readonly folder: string | undefined
        readonly kind: Exclude<ArtifactKind, 'Chart'>
      }
}

/** Pure. @throws the errors of kustomizations and manifests */
export function renderFolderRequest({ content }: FolderRequest): readonly JsonObject[] {
  if ('manifests' in content) return readManifests(content.manifests).map(({ object }) => object)
  if ('artifact' in content) return renderFolder(content.artifact, content.folder, content.kind)
  return renderKustomization(content.kustomization, content.folder).objects as readonly JsonObject[]
}
