/** A kind, an operator with one controller and a transport with faults, for tests of the operator kit. */
import type { Client } from '../src/client/client.ts'
import type { Transport, TransportRequest } from '../src/transport/transport.ts'
import type { Condition } from '../src/kube/meta/condition.ts'
import type { Resource } from '../src/kube/kind.ts'
import type { ObjectMeta, UntypedObject } from '../src/kube/object.ts'
import {
  openTestEnvironment,
  type SentRequest,
  type TestEnvironment,
  type TestEnvironmentOptions,
} from '../src/manager/testing/test-environment.ts'
import { type ControllerOptions, defineController } from '../src/operator/controller.ts'
import { type Field, integer, list, map, optional, string } from '../src/operator/kind/field.ts'
import { defineKind, type Kind } from '../src/operator/kind/kind.ts'
import { defineOperator, type Operator } from '../src/operator/operator.ts'
import type { Ledger } from '../src/operator/ledger.ts'
import type { ObjectOf } from '../src/kube/typed-resource.ts'

type AppSpec = {
  readonly text: Field<string, string, 'defaulted'>
  readonly size: Field<number, number, 'defaulted'>
  readonly parts: Field<Readonly<Record<string, string>>, Readonly<Record<string, string>>, 'optional'>
  readonly items: Field<readonly string[], readonly string[], 'optional'>
}
type AppStatus = {
  readonly seen: Field<string, string, 'optional'>
  readonly names: Field<readonly string[], readonly string[], 'optional'>
  readonly count: Field<number, number, 'optional'>
}

export const App: Kind<AppSpec, AppStatus> = defineKind<AppSpec, AppStatus>({
  group: 'test.example.com',
  version: 'v1',
  kind: 'App',
  spec: {
    text: string({ default: 'hello' }),
    size: integer({ default: 1 }),
    parts: optional(map(string())),
    items: optional(list(string())),
  },
  status: { seen: optional(string()), names: optional(list(string())), count: optional(integer()) },
})
export type App = ObjectOf<typeof App>

export function app(
  name: string,
  given: Readonly<Record<string, unknown>> = {},
  metadata: Partial<ObjectMeta> = {},
): UntypedObject {
  return {
    apiVersion: 'test.example.com/v1',
    kind: 'App',
    metadata: { name, namespace: 'default', ...metadata },
    spec: given,
  }
}

export type AppController = Omit<ControllerOptions<App>, 'for'>

export function appOperator(options: AppController): Operator {
  return defineOperator({ name: 'kit', controllers: [defineController({ for: App, ...options })] })
}

export function openAppEnvironment(
  options: AppController,
  environment: TestEnvironmentOptions = {},
): Promise<TestEnvironment> {
  // Mistakes are part of many tests: they are not printed.
  return openTestEnvironment(appOperator(options), { log: () => undefined, ...environment })
}

/** Requests from here on, as `METHOD last/parts`. */
export function since(environment: TestEnvironment): {
  readonly sent: () => readonly string[]
  readonly writes: () => readonly string[]
} {
  const from = environment.sent.length
  const text = ({ method, path }: SentRequest): string => `${method} ${path.replace(/\?.*/, '')}`
  const fresh = (): readonly SentRequest[] => environment.sent.slice(from)
  return {
    sent: () => fresh().map(text),
    writes: () =>
      fresh()
        .filter(({ method, path }) => method !== 'GET' && !/\/events(?:\/|$|\?)/.test(path))
        .map(text),
  }
}

export async function read(client: Client, resource: Resource, name: string): Promise<UntypedObject> {
  const found: UntypedObject = await client.get(resource, {
    name,
    ...(resource.namespaced && { namespace: 'default' }),
  })
  return found
}

export async function exists(
  client: Client,
  resource: Resource,
  name: string,
  namespace = 'default',
): Promise<boolean> {
  try {
    await client.get(resource, { name, ...(resource.namespaced && { namespace }) })
    return true
  } catch {
    return false
  }
}

export async function conditionsOf(client: Client, name: string): Promise<Readonly<Record<string, Condition>>> {
  const { status: is } = (await read(client, App, name)) as unknown as App
  return Object.fromEntries((is?.conditions ?? []).map((condition) => [condition.type, condition]))
}

/** `created configMap`, in order, without unchanged objects. */
export function operations(ledgers: readonly Ledger[]): readonly string[] {
  return ledgers.flatMap(({ entries }) =>
    entries
      .filter(({ operation }) => operation !== 'unchanged' && operation !== 'inactive')
      .map(({ operation, subject }) => `${operation} ${subject}`),
  )
}

/** A transport between an operator and its server. */
export interface FaultyTransport {
  readonly through: (transport: Transport) => Transport
  /** Called with each request; an exception is its result. */
  hinder: ((request: TransportRequest) => void | Promise<void>) | undefined
  /** Watch events of a resource wait for this promise. */
  late: { readonly plural: string; readonly until: Promise<void> } | undefined
}

export function faultyTransport(): FaultyTransport {
  const it: FaultyTransport = {
    hinder: undefined,
    late: undefined,
    through: (transport) => ({
      ...transport,
      async send(request) {
        await it.hinder?.(request)
        const answer = await transport.send(request)
        return /[?&]watch=/.test(request.path) ? { ...answer, body: held(request.path, answer.body) } : answer
      },
    }),
  }
  async function* held(path: string, body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of body) {
      if (it.late && path.includes(`/${it.late.plural}?`)) await it.late.until
      yield chunk
    }
  }
  return it
}
