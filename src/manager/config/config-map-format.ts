/**
 * How the ConfigMap of another program holds a configuration, which a manager replaces. The ConfigMap has one key, of any
 * name. As with that program, a manager does not start with one that is not valid.
 */
import type { Layer } from './layer.ts'

export interface ConfigMapFormat {
  /** The key of a ConfigMap that is created. */
  readonly key: string
  /** The content of one that is created. */
  defaults(this: void): string
  /**
   * Its content as settings. `source` is the name of the ConfigMap.
   * @throws InvalidYaml, InvalidConfiguration
   */
  layer(this: void, source: string, text: string): Layer
}
