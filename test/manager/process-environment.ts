/**
 * The environment for managers in separate processes: a server (embedded in `npm test`, real in `npm run test:real`), a
 * namespace on it, the kinds of some operators, and a project folder.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import start from '../../src/cli/cluster/start.ts'
import type { Client } from '../../src/client/client.ts'
import { connect } from '../../src/client/connect.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import { resourceOf, type TypedResource } from '../../src/kube/typed-resource.ts'
import { install } from '../project.ts'
import type { SizedOperator } from './operators.ts'

export interface ProcessEnvironment {
  readonly folder: string
  readonly kubeconfig: string
  readonly client: Client
  /** From now on, each write of a ConfigMap in the namespace. */
  follow(onWritten: (object: ConfigMap) => void): void
  close(): Promise<void>
}

const Crd: TypedResource = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
const Namespace: TypedResource = resourceOf('v1', 'Namespace')

/** `parts.ts` of the folder has the building blocks of operators. */
export async function openProcessEnvironment(
  namespace: string,
  parts: readonly SizedOperator[],
): Promise<ProcessEnvironment> {
  const stop = new AbortController()
  const ends: Promise<unknown>[] = []
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-managers-'))
  const kubeconfig = path.join(folder, 'kubeconfig')
  if (process.env['MUSTER_TEST_REAL']) {
    await writeFile(kubeconfig, inject('cluster').kubeconfig)
  } else {
    const ready = Promise.withResolvers<void>()
    const invocation = { positionals: [], out: () => ready.resolve(), err: () => undefined, signal: stop.signal }
    ends.push(start.run({ ...invocation, flags: { 'kubeconfig-out': kubeconfig, nodes: '0' } }))
    await ready.promise
  }
  const client = await connect({ kubeconfig })
  // An isolated operator may read nothing else.
  await install(folder)
  await copyFile(fileURLToPath(new URL('operators.ts', import.meta.url)), path.join(folder, 'parts.ts'))
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }')
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await Promise.all(parts.map(({ own }) => client.create(Crd, own.crd() as unknown as UntypedObject)))
  // A real server takes a while to serve them all.
  for (const { own } of parts) {
    for (let isServed = false; !isServed;) {
      isServed = await client.list(own, { namespace }).then(
        () => true,
        () => false,
      )
    }
  }

  const following = async (onWritten: (object: ConfigMap) => void): Promise<void> => {
    try {
      for await (const { type, object } of client.watch(ConfigMap, { namespace, signal: stop.signal })) {
        if (type === 'ADDED' || type === 'MODIFIED') onWritten(object)
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error
    }
  }
  return {
    folder,
    kubeconfig,
    client,
    follow: (onWritten) => void ends.push(following(onWritten)),
    async close() {
      await Promise.all(parts.map(({ own }) => client.delete(Crd, { name: own.crd().metadata.name! })))
      await client.delete(Namespace, { name: namespace })
      stop.abort()
      await Promise.all(ends)
      await client.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Waits for the effects of events. */
export interface Waiters {
  /** Something happened: waiters check again. */
  notice(this: void): void
  until(this: void, holds: () => boolean, what: () => string): Promise<void>
}

export function createWaiters(): Waiters {
  let look = (): void => undefined
  return {
    notice: () => look(),
    async until(holds, what) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(() => reject(new Error(`still not so: ${what()}`)), 50_000)
      look = () => {
        if (holds()) resolve()
      }
      look()
      await promise.finally(() => clearTimeout(timer))
    },
  }
}
