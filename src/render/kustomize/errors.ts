/** Errors of kustomizations: MUS23xx. */
import { defineErrors, type ErrorTable } from '../../kube/muster-error.ts'

const table = {
  KustomizationInvalid: {
    code: 'MUS2301',
    retry: 'terminal',
    meaning: 'A kustomization file is missing, or a field of it is unknown, has the wrong type or contradicts another.',
    cure: 'Correct the field that the message names.',
  },
  KustomizationFileMissing: {
    code: 'MUS2302',
    retry: 'terminal',
    meaning: 'A kustomization names a file or a folder that does not exist.',
    cure: 'Correct the path, which is relative to the folder of the kustomization.',
  },
  KustomizationPathRefused: {
    code: 'MUS2303',
    retry: 'terminal',
    meaning: 'A kustomization names a file outside its folder, or a folder that contains it.',
    cure: 'Move the file into the folder of the kustomization, or name its folder as a resource.',
  },
  KustomizationUnsupported: {
    code: 'MUS2304',
    retry: 'terminal',
    meaning:
      'A kustomization needs something that is never done here: fetching from the network, running plugins, inflating charts.',
    cure: 'Follow the message; docs/kustomize.md lists what is refused and what to do instead.',
  },
  KustomizationResourceInvalid: {
    code: 'MUS2305',
    retry: 'terminal',
    meaning: 'A file that a kustomization names is not a list of Kubernetes objects.',
    cure: 'Give every object a kind and a metadata.name.',
  },
  KustomizationConflict: {
    code: 'MUS2306',
    retry: 'terminal',
    meaning:
      'Two objects of a kustomization have the same kind, name and namespace, or a reference fits several of them.',
    cure: 'Rename one of the objects in the message, or remove it.',
  },
  KustomizationPatchFailed: {
    code: 'MUS2307',
    retry: 'terminal',
    meaning: 'A patch of a kustomization matches no object, or does not fit the object that it matches.',
    cure: 'Compare the patch in the message with the object: kind, name, namespace and path.',
  },
  KustomizationTransformFailed: {
    code: 'MUS2308',
    retry: 'terminal',
    meaning: 'A field of a kustomization does not fit the objects that it applies to.',
    cure: 'Compare the field in the message with the object.',
  },
} as const

export const kustomizeErrors: ErrorTable<typeof table> = defineErrors(table)
