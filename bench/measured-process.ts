/** Starts a program with a measured manager (`measured-manager.ts`) on the cluster of a kubeconfig, and asks it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import type { Client } from '../src/client/client.ts'
import type { Resource } from '../src/kube/kind.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { resourceOf } from '../src/kube/typed-resource.ts'
import type { Kind } from '../src/operator/kind/kind.ts'
import type { Question } from './measured-manager.ts'

/** JavaScript in one file and the young generation of the image of docs/deploy: what users run, not the sources. */
export async function buildProgram(source: URL, folder: string): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(source),
    platform: 'node',
    external: /^node:/,
    plugins: [
      {
        name: 'in-place',
        transform: {
          filter: { id: /\.ts$/, code: 'import.meta.url' },
          handler: (code, id) => ({ code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)) }),
        },
      },
    ],
    checks: { ineffectiveDynamicImport: false },
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: 'program.mjs', comments: false })
  return path.join(folder, 'program.mjs')
}

export async function startProgram(program: string, kubeconfig: string): Promise<ChildProcess> {
  // As in the image.
  const env = { ...process.env, MALLOC_ARENA_MAX: '2' }
  const child = fork(program, [kubeconfig], { env, execArgv: ['--expose-gc', '--max-semi-space-size=4'] })
  await once(child, 'message')
  return child
}

export async function stopProgram(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.send('stop' satisfies Question)
  await ended
}

export async function askProgram<T>(child: ChildProcess, question: Question): Promise<T> {
  const answered = once(child, 'message')
  child.send(question)
  const [answer] = (await answered) as [T]
  return answer
}

/** Creates the CRDs of kinds, and waits until the server serves them. */
export async function createKinds(client: Client, kinds: readonly (Resource & Pick<Kind, 'crd'>)[]): Promise<void> {
  const crds = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
  for (const { crd } of kinds) await client.create(crds, crd() as unknown as UntypedObject)
  for (const kind of kinds) {
    while (!(await client.discovery.resourceFor(kind))) {
      client.discovery.invalidate()
      await sleep(100)
    }
    while (
      !(await client.list(kind).then(
        () => true,
        () => false,
      ))
    )
      await sleep(100)
  }
}
