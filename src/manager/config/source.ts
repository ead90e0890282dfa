/** Where a configuration is kept: a file, or a ConfigMap. It says what it says now, and when it may say something else. */
import type { MusterError } from '../../kube/errors.ts'

export interface ConfigurationSource {
  /** `muster.yaml`, `ConfigMap muster/config`: for places and problems. */
  readonly name: string
  /** Where files and packages that it names are looked for. @default the working directory */
  readonly folder?: string | undefined
  /**
   * A manager that has nothing else to go by comes up without it, and pauses until it is in order. A file is right there
   * before the person who started the manager, and is an error instead.
   */
  readonly isRemote: boolean
  /** What it says now; undefined: it is not there. @throws whatever keeps it from being read */
  read(): Promise<string | undefined>
  /** Puts a text there unless something is there already. @returns what is there then */
  create?(text: string): Promise<string | undefined>
  /** Calls when it may say something else, and when that can no longer be told. Returns what ends it. */
  watch(onChange: () => void, onProblem: (problem: MusterError) => void): () => void
}
