/** The connection flags of all commands that use a cluster. */
import type { FlagValues } from './command.ts'

export const connectionFlags = {
  kubeconfig: {
    type: 'string',
    value: 'FILE',
    help: 'kubeconfig to use (default: KUBECONFIG, then ~/.kube/config, then in-cluster)',
  },
  context: { type: 'string', value: 'NAME', help: 'context of the kubeconfig (default: its current one)' },
} as const

/** The given flags as options of `loadConnection`. */
export function connectionOptions({ kubeconfig, context }: FlagValues<typeof connectionFlags>): {
  readonly kubeconfig?: string
  readonly context?: string
} {
  return { ...(kubeconfig === undefined ? {} : { kubeconfig }), ...(context === undefined ? {} : { context }) }
}
