/** Images that are built from a Containerfile, and containers of them: run by runc with what the Pod of the chart has. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { RealContainers } from '../../scripts/real-containers.ts'
import type { ContainerOptions } from '../image-root.ts'

export interface Image {
  /** A folder with the files of the image. */
  readonly root: string
  /** In bytes. */
  readonly size: number
  readonly config: ImageConfig
}

interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly WorkingDir: string
}

/** Builds the Containerfile of a folder, and unpacks the image into `target`. */
export async function buildImage(containers: RealContainers, context: string, target: string): Promise<Image> {
  const { run, policy, nodeImage } = containers
  const name = `localhost/${path.basename(target)}`
  const signed = ['--signature-policy', policy]
  await run('buildah', 'build', ...signed, '--build-arg', `NODE_IMAGE=${nodeImage}`, '--tag', name, context)
  mkdirSync(target, { recursive: true })
  const unpack =
    'c=$(buildah from --signature-policy "$1" "$2") && cp -a "$(buildah mount "$c")/." "$3" && buildah rm "$c"'
  await run('/bin/sh', '-c', unpack, 'sh', policy, name, target)
  const shown = JSON.parse(await run('buildah', 'inspect', '--type', 'image', name)) as {
    readonly OCIv1: { readonly config: ImageConfig }
    readonly Manifest: string
  }
  const { layers } = JSON.parse(shown.Manifest) as { readonly layers: readonly { readonly size: number }[] }
  await run('buildah', 'rmi', name)
  return { root: target, size: layers.reduce((sum, layer) => sum + layer.size, 0), config: shown.OCIv1.config }
}

let containerCount = 0

/** As `startContainer` of image-root.ts, by runc. `args` follow the entry point; the container shares the network of this machine. */
export function startImage(
  { runc }: RealContainers,
  { root, config }: Image,
  bundles: string,
): (options: ContainerOptions, args: readonly string[]) => ChildProcess {
  return ({ volumes, env }, args) => {
    const id = `muster-${process.pid}-${++containerCount}`
    const bundle = path.join(bundles, id)
    mkdirSync(bundle, { recursive: true })
    const [uid, gid] = config.User.split(':').map(Number)
    const spec = {
      ociVersion: '1.0.2',
      process: {
        terminal: false,
        user: { uid, gid },
        args: [...config.Entrypoint, ...args],
        env: [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
        cwd: config.WorkingDir,
        capabilities: {},
        noNewPrivileges: true,
      },
      root: { path: root, readonly: true },
      mounts: [
        { destination: '/proc', type: 'proc', source: 'proc' },
        { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
        ...Object.entries(volumes).map(([destination, source]) => ({
          destination,
          type: 'none',
          source,
          options: ['bind', 'rw'],
        })),
      ],
      linux: { namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })) },
    }
    writeFileSync(path.join(bundle, 'config.json'), JSON.stringify(spec))
    // runc hands signals on to the program, and ends with its exit code.
    const words = ['--root', path.join(bundles, 'state'), 'run', '--bundle', bundle, id]
    return spawn(runc, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  }
}
