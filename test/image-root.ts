/**
 * The files of the image of a project in a folder, as the Containerfile puts them together, and processes in it: with this folder
 * as their root, which they cannot write to, as a user without rights. No container engine is needed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, linkSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundlePackage } from '../scripts/build.ts'
import { imageFolder, imageUser } from '../src/deploy/image.ts'

const checkout = fileURLToPath(new URL('..', import.meta.url))
const node = '/usr/local/bin/node'

/** Makes the image of the project at `project` in the folder `root`. */
export async function makeImageRoot(project: string, root: string): Promise<void> {
  const at = (...parts: readonly string[]): string => path.join(root, ...parts)
  for (const folder of ['tmp', 'etc', 'proc', 'usr/local/bin', 'var/run/secrets/kubernetes.io/serviceaccount']) {
    mkdirSync(at(folder), { recursive: true })
  }
  put(process.execPath, at(node))
  for (const library of librariesOf(process.execPath)) put(realpathSync(library), at(library))
  cpSync(project, at(imageFolder), { recursive: true, filter: (name) => !name.includes('node_modules') })
  mkdirSync(at(imageFolder, '.muster'), { recursive: true })
  const own = at(imageFolder, 'node_modules/@muster-dev/muster')
  mkdirSync(own, { recursive: true })
  for (const name of ['bin', 'package.json'])
    cpSync(path.join(checkout, name), path.join(own, name), { recursive: true })
  await bundlePackage(path.join(own, 'dist'))
  for (const name of ['js-yaml', 're2js', 'ws']) {
    cpSync(path.join(checkout, 'node_modules', name), at(imageFolder, 'node_modules', name), { recursive: true })
  }
  writeFileSync(
    at('usr/local/bin/muster'),
    `#!${node}\nrequire("${imageFolder}/node_modules/@muster-dev/muster/bin/muster")\n`,
  )
  chmodSync(at('usr/local/bin/muster'), 0o755)
}

function put(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true })
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to)
  }
}

function librariesOf(program: string): readonly string[] {
  return spawnSync('ldd', [program], { encoding: 'utf8' }).stdout.match(/\/[^ ]+/g) ?? []
}

export interface ContainerOptions {
  /** Volumes: folders of this machine by their paths in the container. All else is read-only. */
  readonly volumes: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
}

/** Starts the program of the image at `root`. The process that is returned is the program itself. */
export function startContainer(root: string): (options: ContainerOptions, args: readonly string[]) => ChildProcess {
  return ({ volumes, env }, args) => {
    const mounts = Object.entries(volumes).map(([inside, outside]) => `mount --bind '${outside}' '${root}${inside}'`)
    const script = [
      'set -e',
      `mount --bind '${root}' '${root}'`,
      // As engines do.
      `mount --rbind /proc '${root}/proc'`,
      ...mounts,
      `mount -o remount,bind,ro '${root}'`,
      `exec chroot ${isRoot ? `--userspec=${imageUser}:${imageUser} --groups=` : ''} '${root}' ${node} "$@"`,
    ].join('\n')
    const command = [
      ...namespaces(),
      '/bin/sh',
      '-c',
      script,
      'sh',
      '--import',
      enter,
      '/usr/local/bin/muster',
      ...args,
    ]
    return spawn(command[0]!, command.slice(1), {
      // The PATH of container engines.
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        HOME: imageFolder,
        NODE_ENV: 'production',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
}

const isRoot = process.getuid?.() === 0

/** chroot leaves the process in `/`; an engine starts it in the working directory of the image. */
const enter = `data:text/javascript,process.chdir("${imageFolder}")`

function namespaces(): readonly string[] {
  return ['unshare', '--mount', ...(isRoot ? [] : ['--user', '--map-root-user']), '--propagation', 'private']
}

/** Whether this user may make such a root. */
export function canStartContainers(): boolean {
  const [program, ...words] = namespaces()
  return spawnSync(program!, [...words, '/bin/sh', '-c', 'mount --bind /tmp /tmp'], { stdio: 'ignore' }).status === 0
}
