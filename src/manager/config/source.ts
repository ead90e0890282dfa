/** A configuration source: a file or a ConfigMap. It returns its current content and notifies of possible changes. */
import type { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Layer } from './layer.ts'

export interface ConfigurationSource {
  /** `muster.yaml`, `ConfigMap muster/config`: for positions and problems. */
  readonly name: string
  /** Base of relative paths and packages in it. @default the working directory */
  readonly folder?: string | undefined
  /**
   * A manager starts even if a remote source is invalid, and is paused until it is fixed. An invalid file is an error
   * at the start, since the user who starts the manager can fix it.
   */
  readonly isRemote: boolean
  /** The current content; undefined: it does not exist. @throws errors of reading it */
  read(): Promise<string | undefined>
  /** Its content as settings. @default YAML with the settings themselves @throws InvalidYaml, InvalidConfiguration */
  layer?(text: string): Layer
  /** Operators that are paused besides its content: `muster pause`. @default none */
  pausedOperators?(): readonly string[]
  /** The object that holds it, as last seen by the watch. */
  object?(): KubeObject | undefined
  /** Creates it unless it exists. @returns the content after that */
  create?(text: string): Promise<string | undefined>
  /** Notifies of possible changes, and of a broken watch. Returns a function that stops it. */
  watch(onChange: () => void, onProblem: (problem: MusterError) => void): () => void
}
