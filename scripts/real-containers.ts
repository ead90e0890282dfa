/**
 * What builds and runs container images in `npm run test:real`: buildah, runc and debootstrap from Debian's packages, unpacked and not
 * installed, and an image with Node and npm that takes the place of `NODE_IMAGE`. No registry of images is needed. Only root may
 * change roots and mount file systems as these programs do.
 */
import { copyFileSync, cpSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { cliErrors } from '../src/cli/errors.ts'
import { imageNode } from '../src/deploy/image.ts'
import { MusterError } from '../src/kube/muster-error.ts'
import { fromDebian } from './debian-packages.ts'
import { cacheFolder, type Environment, findProgram, refuseInTests, run, whileHolding } from './real-binaries.ts'

export interface RealContainers {
  /** Runs a program of the packages, or of this machine, where the packages' libraries are found. Returns its output. */
  readonly run: (program: string, ...words: readonly string[]) => Promise<string>
  /** Path of runc. */
  readonly runc: string
  /** Accepts images without signatures. */
  readonly policy: string
  /** The image for `--build-arg NODE_IMAGE`. */
  readonly nodeImage: string
}

/** Why images cannot be built here: the suites that need them are skipped. Undefined: they must pass. */
export function containersUnusable(uid: number | undefined = process.getuid?.()): string | undefined {
  return uid === 0 ? undefined : 'images are built in mount namespaces with an overlay, which needs root'
}

/** @throws BinaryMissing */
export async function realContainers(env: Environment = process.env): Promise<RealContainers> {
  const reason = containersUnusable()
  if (reason !== undefined) throw new MusterError(cliErrors.BinaryMissing, `${reason}.`)
  const packages = ['buildah', 'runc', 'debootstrap']
  const containers = await fromDebian({ name: 'containers', packages, use: (folder) => within(folder, env) }, env)
  if (!(await hasImage(containers))) {
    refuseInTests('the image of Node', env)
    await whileHolding(path.join(cacheFolder(env), 'containers-image.lock.db'), async () => {
      if (!(await hasImage(containers))) await makeNodeImage(containers, env)
    })
  }
  return containers
}

async function within(folder: string, env: Environment): Promise<RealContainers> {
  const libraries = (await readdir(path.join(folder, 'usr', 'lib'))).find((name) => name.includes('-linux-'))
  const at = (...parts: readonly string[]): string => path.join(folder, ...parts)
  const state = path.join(cacheFolder(env), 'containers-storage')
  mkdirSync(state, { recursive: true })
  const storage = path.join(state, 'storage.conf')
  const roots = { graphroot: path.join(state, 'graph'), runroot: path.join(state, 'run') }
  const lines = Object.entries({ driver: 'overlay', ...roots }).map(([name, value]) => `${name} = "${value}"`)
  writeFileSync(storage, `[storage]\n${lines.join('\n')}\n`)
  const policy = path.join(state, 'policy.json')
  writeFileSync(policy, '{ "default": [{ "type": "insecureAcceptAnything" }] }\n')
  const programs: Environment = {
    ...env,
    PATH: [at('usr/bin'), at('usr/sbin'), env['PATH'] ?? ''].join(path.delimiter),
    CONTAINERS_STORAGE_CONF: storage,
    CONTAINERS_REGISTRIES_CONF: at('etc/containers/registries.conf'),
    BUILDAH_ISOLATION: 'chroot',
    DEBOOTSTRAP_DIR: at('usr/share/debootstrap'),
  }
  // buildah starts itself with an empty environment, where LD_LIBRARY_PATH has no effect: so its libraries are mounted over
  // those of the machine, for these processes alone.
  const script = 'mount -t overlay overlay -o "lowerdir=$1:$2" "$2" && shift 2 && exec "$@"'
  const both = [at('usr/lib', libraries ?? ''), path.join('/usr/lib', libraries ?? '')]
  const namespace = ['--mount', '--propagation', 'private', '/bin/sh', '-c', script, 'sh', ...both]
  const containers: RealContainers = {
    run: (program, ...words) => run('unshare', [...namespace, program, ...words], { env: programs }),
    runc: at('usr/sbin/runc'),
    policy,
    nodeImage: `localhost/muster-node:${imageNode}`,
  }
  await containers.run('buildah', 'version')
  await run(containers.runc, ['--version'])
  return containers
}

async function hasImage({ run: inside, nodeImage }: RealContainers): Promise<boolean> {
  return await inside('buildah', 'inspect', '--type', 'image', nodeImage).then(
    () => true,
    () => false,
  )
}

/** Debian's base system, the Node of this process, and the npm of this machine. */
async function makeNodeImage({ run: inside, policy, nodeImage }: RealContainers, env: Environment): Promise<void> {
  process.stderr.write(`making ${nodeImage} with debootstrap; this happens once and takes a minute or two\n`)
  const base = path.join(cacheFolder(env), `containers-base.${process.pid}`)
  const at = (...parts: readonly string[]): string => path.join(base, ...parts)
  try {
    await inside('debootstrap', '--variant=minbase', '--include=libatomic1', 'bookworm', base)
    copyFileSync(process.execPath, at('usr/local/bin/node'))
    const npm = await findProgram('npm', env)
    if (npm === undefined) throw new MusterError(cliErrors.BinaryMissing, 'npm is needed: put it on the path.')
    const modules = at('usr/local/lib/node_modules')
    cpSync(path.join(realpathSync(npm), '../..'), path.join(modules, 'npm'), { recursive: true })
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', at('usr/local/bin/npm'))
    const trusted = env['NODE_EXTRA_CA_CERTS']
    if (trusted) copyFileSync(trusted, at('etc/extra.pem'))
    const extra = trusted ? ['--env', 'NODE_EXTRA_CA_CERTS=/etc/extra.pem'] : []
    const steps = [
      'set -e',
      'container=$(buildah from --signature-policy "$1" scratch)',
      'trap "buildah rm $container" EXIT',
      'buildah add --quiet "$container" "$2" /',
      'image="$3"; policy="$1"; shift 3',
      'if [ $# -gt 0 ]; then buildah config "$@" "$container"; fi',
      'buildah commit --quiet --signature-policy "$policy" "$container" "$image"',
    ]
    await inside('/bin/sh', '-c', steps.join('\n'), 'sh', policy, base, nodeImage, ...extra)
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}
