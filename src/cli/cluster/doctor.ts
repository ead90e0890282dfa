/** `muster doctor`: checks a connection step by step, and reports the failing step with its cure. */
import { systemClock } from '../../clock/system-clock.ts'
import { createClient } from '../../client/create-client.ts'
import { serverVersion } from '../../client/server-facts.ts'
import { httpTransport } from '../../client/http/http-transport.ts'
import { loadConnection } from '../../client/load-connection.ts'
import { describeError } from '../../kube/muster-error.ts'
import { type Command, defineCommand } from '../command/command.ts'
import { connectionFlags, connectionOptions } from '../command/connection-flags.ts'
import { formatOutput, outputFlag, readOutputFormat } from '../command/output-flag.ts'

const command: Command = defineCommand({
  details:
    'Reads the kubeconfig, connects, authenticates, lists what the server serves. Stops at the first step that fails.',
  flags: { ...connectionFlags, output: outputFlag },
  async run({ flags, out, err, signal }) {
    const output = readOutputFormat(flags.output)
    const steps: CheckedStep[] = []
    const note = (checked: CheckedStep): void => {
      steps.push(checked)
      const { step: name, ok, message } = checked
      if (!output) out(ok ? `ok      ${name}: ${message}` : `FAILED  ${name}`)
    }
    const step = async <T>(name: string, work: () => Promise<T>, tell: (result: T) => string): Promise<T> => {
      try {
        const result = await work()
        note({ step: name, ok: true, message: tell(result) })
        return result
      } catch (error) {
        note({ step: name, ok: false, message: describeError(error) })
        throw error
      }
    }
    try {
      const connection = await step(
        'configuration',
        () => loadConnection(connectionOptions(flags)),
        ({ name, server, namespace }) => `context ${name}, server ${server}, namespace ${namespace}`,
      )
      const client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
      try {
        await step(
          'connection',
          () => serverVersion(client, { signal, timeoutMs: 10_000 }),
          (version) => `the server is Kubernetes ${version}`,
        )
        await step(
          'identity',
          () =>
            client.create<SelfSubjectReview>(
              {
                group: 'authentication.k8s.io',
                version: 'v1',
                kind: 'SelfSubjectReview',
                plural: 'selfsubjectreviews',
                namespaced: false,
              },
              { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} },
              { signal },
            ),
          ({ status }) => `you are ${status?.userInfo.username ?? 'unknown'}`,
        )
        await step(
          'discovery',
          () => client.discovery.resources({ signal }),
          (resources) => `${resources.length} resources are served`,
        )
      } finally {
        await client.close()
      }
      return 0
    } catch (error) {
      if (!output) err(describeError(error))
      return 1
    } finally {
      if (output) out(await formatOutput({ steps }, output))
    }
  },
})

interface CheckedStep {
  readonly step: string
  readonly ok: boolean
  /** What was found, or the error with its cure. */
  readonly message: string
}

interface SelfSubjectReview {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Readonly<Record<string, never>>
  readonly status?: { readonly userInfo: { readonly username: string } }
}

export default command
