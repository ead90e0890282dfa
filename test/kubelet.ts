/** What a cluster of nodes does for an installation in tests: applies its objects, and runs the container of its Pods. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished } from 'vitest'
import type { Client } from '../src/client/client.ts'
import { loadConnection } from '../src/client/load-connection.ts'
import { builtinResource } from '../src/kube/builtin.ts'
import type { JsonObject } from '../src/kube/json.ts'
import { asObject } from '../src/kube/json-object.ts'
import { kindOf, type Resource } from '../src/kube/kind.ts'
import { Deployment } from '../src/kube/kinds.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { resourceOf } from '../src/kube/typed-resource.ts'
import { freePort } from './free-port.ts'
import type { ContainerOptions } from './image-root.ts'

/** As `kubectl apply --server-side` does. */
export async function apply(admin: Client, objects: readonly JsonObject[]): Promise<void> {
  for (const object of objects.map(asObject)) {
    await admin.apply(resourceFor(object), object, { fieldManager: 'helm', force: true })
  }
}

function resourceFor(object: UntypedObject): Resource {
  return builtinResource(kindOf(object)) ?? resourceOf(object.apiVersion, object.kind)
}

export async function uninstall(admin: Client, objects: readonly JsonObject[]): Promise<void> {
  for (const object of objects.toReversed().map(asObject)) {
    const { namespace: space, name: called } = object.metadata
    await admin.delete(resourceFor(object), { name: called!, ...(space !== undefined && { namespace: space }) })
  }
}

export interface Replica {
  readonly process: ChildProcess
  readonly lines: string[]
  readonly ask: (where: string) => Promise<string>
  readonly metrics: () => Promise<string>
  /** `kubectl exec`: runs the command of the image beside it, and returns its output. */
  readonly exec: (...args: readonly string[]) => Promise<string>
  readonly stop: () => Promise<void>
}

export interface Kubelet {
  readonly admin: Client
  /** The name of the installation, and its namespace. */
  readonly name: string
  readonly namespace: string
  /** For volumes. */
  readonly folder: string
  /** Leads to the API server. */
  readonly kubeconfig: string
  /** Starts the image.*/
  readonly start: (options: ContainerOptions, args: readonly string[]) => ChildProcess
  /** A line of output has come. */
  readonly notice: () => void
}

/** Does what a kubelet does: makes the Pod, mounts the service account, resolves the environment, starts the container. */
export async function startPod(kubelet: Kubelet, pod: string): Promise<Replica> {
  const { admin, name, namespace, folder, kubeconfig, start, notice } = kubelet
  const { spec } = await admin.get(Deployment, { namespace, name })
  const { metadata, spec: podSpec } = spec.template
  const [container] = podSpec!.containers
  const created = await admin.create(resourceOf('v1', 'Pod'), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name: pod, namespace },
    spec: podSpec,
  })
  const fields: Readonly<Record<string, string>> = {
    'metadata.name': pod,
    'metadata.namespace': namespace,
    'metadata.uid': created.metadata.uid!,
  }
  const env: Record<string, string> = {}
  for (const { name: variable, value = '', valueFrom } of container!.env ?? []) {
    const given = valueFrom ? fields[valueFrom.fieldRef!.fieldPath]! : value
    env[variable] = given.replaceAll(/\$\((\w+)\)/g, (_, other: string) => env[other] ?? '')
  }
  const { server, tls } = await loadConnection({ kubeconfig })
  const { hostname, port } = new URL(server)
  const account = path.join(folder, `${pod}-account`)
  await mkdir(account, { recursive: true })
  const { token } = await admin.createToken(
    { namespace, name: podSpec!.serviceAccountName! },
    { expirationSeconds: 3600 },
  )
  for (const [file, text] of Object.entries({ token, namespace, 'ca.crt': tls.ca! })) {
    await writeFile(path.join(account, file), text, { mode: 0o444 })
  }
  const [state, tmp] = [path.join(folder, `${pod}-state`), path.join(folder, `${pod}-tmp`)]
  for (const made of [state, tmp]) {
    await mkdir(made)
    await chmod(made, 0o777)
  }
  const [health, metrics] = [await freePort(), await freePort()]
  const options = {
    volumes: { '/var/run/secrets/kubernetes.io/serviceaccount': account, '/app/.muster': state, '/tmp': tmp },
    env: {
      ...env,
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      // A node gives each Pod an address of its own; here all share loopback.
      MUSTER__health__port: String(health),
      MUSTER__health__address: '127.0.0.1',
      MUSTER__metrics__port: String(metrics),
      MUSTER__metrics__address: '127.0.0.1',
      MUSTER__leaderElection__retryPeriod: '250ms',
    },
  }
  const process = start(options, container!.args ?? [])
  onTestFinished(() => void process.kill('SIGKILL'))
  const lines: string[] = []
  for (const stream of [process.stdout!, process.stderr!]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      notice()
    })
  }
  const ended = once(process, 'exit')
  const fetched = async (url: string): Promise<string> => await (await fetch(url)).text()
  return {
    process,
    lines,
    ask: (where) => fetched(`http://127.0.0.1:${health}${where}`),
    metrics: () => fetched(`http://127.0.0.1:${metrics}/metrics`),
    async exec(...args) {
      const beside = start(options, args)
      let output = ''
      beside.stdout!.on('data', (text: Buffer) => (output += text.toString()))
      beside.stderr!.on('data', (text: Buffer) => (output += text.toString()))
      await once(beside, 'close')
      return output
    },
    async stop() {
      process.kill('SIGTERM')
      const [code] = (await ended) as [number | null]
      expect(code).toBe(0)
      await admin.delete(resourceOf('v1', 'Pod'), { namespace, name: pod }, { gracePeriodSeconds: 0 })
    },
  }
}
