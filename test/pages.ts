/** Pages of docs/ whose commands and manifests tests run as they are shown. */
import { readFileSync } from 'node:fs'

export interface Page {
  readonly text: string
  /** The blocks of this language, in order. */
  blocks(this: void, language: 'sh' | 'yaml'): readonly string[]
  /** The words of the indented command `muster run … FLAG`. */
  runWords(this: void, flag: '--embedded' | '--install'): readonly string[]
}

export function readPage(name: string): Page {
  const text = readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8')
  return {
    text,
    blocks: (language) =>
      [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block]) => block ?? ''),
    runWords(flag) {
      const [words] = new RegExp(`(?<=^ {4}muster )run .*${flag}$`, 'm').exec(text) ?? []
      if (words === undefined) throw new Error(`docs/${name} has no line with muster run … ${flag}`)
      return words.split(' ')
    },
  }
}

/** The pages for people who come from another platform, and what their commands print. */
export const facadePages = [
  {
    page: 'coming-from-open-data-hub.md',
    operator: 'muster-open-data-hub',
    shown: [
      'datasciencecluster.datasciencecluster.opendatahub.io/default-dsc condition met',
      'default-dsc   True    Ready',
      'datasciencecluster.datasciencecluster.opendatahub.io/default-dsc patched',
    ],
  },
  {
    page: 'coming-from-kyma.md',
    operator: 'muster-kyma',
    shown: ['kyma.operator.kyma-project.io/default condition met', 'default   Ready', 'default patched'],
  },
] as const
