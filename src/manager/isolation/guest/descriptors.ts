/**
 * File descriptors in a worker. A thread shares the descriptors of its process: code that closes "all from 3 to 1000"
 * closes the manager's connections, event loop and files, and its output to 1 or 2 looks like the manager's.
 *
 * So a guest can use only descriptors that it has opened itself. Its output to 1 and 2 goes to `process.stdout` and
 * `process.stderr` of its thread, which the manager logs under the operator's name.
 *
 * Like the other in-process restrictions, this stops careless code. A process of its own stops hostile code.
 */
type Callback = (error: Error | null, ...results: unknown[]) => void
type Callable = (...args: unknown[]) => unknown
type Constructor = new (...args: unknown[]) => object

/**
 * Replaces functions of `fs`, `net`, `tty` and `dgram` that take descriptors by number, and the raw output of
 * `process`.
 */
export function guardDescriptors(): void {
  guardFiles(process.getBuiltinModule('node:fs'))
  const net = process.getBuiltinModule('node:net')
  for (const name of ['Socket', 'Stream', 'connect', 'createConnection']) guardSockets(net, name)
  guardSockets(net.Server.prototype, 'listen')
  for (const name of ['ReadStream', 'WriteStream']) guardSockets(process.getBuiltinModule('node:tty'), name)
  guardSockets(process.getBuiltinModule('node:dgram').Socket.prototype, 'bind')
  const { format } = process.getBuiltinModule('node:util')
  replace(process, '_rawDebug', (...words: unknown[]) => void process.stderr.write(`${format(...words)}\n`))
}

/** Standard output and standard error. */
const outputs: ReadonlySet<unknown> = new Set([1, 2])

function guardFiles(fs: object): void {
  const opened = new Set<unknown>()
  const [open, openSync] = [Reflect.get(fs, 'open') as Callable, Reflect.get(fs, 'openSync') as Callable]
  for (const [name, member] of Object.entries(fs)) {
    if (typeof member !== 'function' || name.startsWith('_')) continue
    const toOutput = writers[name]
    const isClosing = name === 'close' || name === 'closeSync'
    replace(
      fs,
      name,
      checked(member as Callable & Constructor, (args, run) => {
        const [fd] = args
        if (toOutput && outputs.has(fd)) return toOutput(args)
        const stranger = descriptorsIn(args).find((each) => !opened.has(each) && !outputs.has(each))
        if (stranger !== undefined) return refuse(stranger, args)
        // Before the close: the manager may get the same number next.
        if (isClosing) opened.delete(fd)
        return run()
      }),
    )
  }
  replace(fs, 'openSync', (...args: unknown[]): unknown => {
    const fd = openSync(...args)
    opened.add(fd)
    return fd
  })
  replace(fs, 'open', (...args: unknown[]): unknown => {
    const callback = callbackIn(args)
    if (!callback) return open(...args)
    const noted: Callback = (error, fd) => {
      if (error === null) opened.add(fd)
      callback(error, fd)
    }
    return open(...args.slice(0, -1), noted)
  })
}

/** Some are accessors that cannot be assigned. */
function replace(owner: object, name: string, value: object): void {
  Object.defineProperty(owner, name, { value, writable: true, enumerable: true, configurable: true })
}

/** A socket over a descriptor is of no use to code without network. */
function guardSockets(owner: object, name: string): void {
  const guarded = checked(Reflect.get(owner, name) as Callable & Constructor, (args, run) => {
    // The first argument of `connect` and `listen` may be a port; that of a terminal is a descriptor.
    const [stranger] = name.endsWith('Stream') ? descriptorsIn(args) : descriptorsIn(args.slice(0, 1).filter(isRecord))
    return stranger === undefined ? run() : refuse(stranger, [])
  })
  replace(owner, name, guarded)
}

/** The same function or class, whose arguments are checked first. */
function checked(
  target: Callable & Constructor,
  check: (args: readonly unknown[], run: () => unknown) => unknown,
): object {
  return new Proxy(target, {
    apply: (_, self, args: unknown[]) => check(args, () => Reflect.apply(target, self, args)),
    construct: (_, args: unknown[], made) => check(args, () => Reflect.construct(target, args, made)) as object,
  })
}

/** The first argument, if it is a number; and `fd` of options. */
function descriptorsIn(args: readonly unknown[]): readonly number[] {
  const inOptions = args.filter(isRecord).map(({ fd }) => fd)
  return [args[0], ...inOptions].filter((each) => typeof each === 'number')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
}

function callbackIn(args: readonly unknown[]): Callback | undefined {
  const last = args.at(-1)
  return typeof last === 'function' ? (last as Callback) : undefined
}

function refuse(fd: number, args: readonly unknown[]): undefined {
  const error = Object.assign(
    new Error(`EBADF: an isolated operator may not use descriptor ${fd}: it has not opened it`),
    {
      code: 'EBADF',
    },
  )
  const callback = callbackIn(args)
  if (!callback) throw error
  process.nextTick(callback, error)
  return undefined
}

/** Replacements of `fs` functions for the standard outputs, with the same arguments. */
const writers: Readonly<Record<string, (args: readonly unknown[]) => unknown>> = {
  writeSync: written,
  write: later((args) => [written(args), args[1]]),
  writevSync: writtenAll,
  writev: later((args) => [writtenAll(args), args[1]]),
  writeFileSync: (args) => void writtenWhole(args),
  writeFile: later((args) => [void writtenWhole(args)]),
  appendFileSync: (args) => void writtenWhole(args),
  appendFile: later((args) => [void writtenWhole(args)]),
  closeSync: () => undefined,
  close: later(() => []),
  fsyncSync: () => undefined,
  fsync: later(() => []),
  fdatasyncSync: () => undefined,
  fdatasync: later(() => []),
}

function later(write: (args: readonly unknown[]) => readonly unknown[]): (args: readonly unknown[]) => void {
  return (args) => {
    const results = write(args)
    const callback = callbackIn(args)
    if (callback) process.nextTick(callback, null, ...results)
  }
}

function print(fd: unknown, bytes: Buffer): number {
  // A copy: the caller may reuse its buffer at once.
  void (fd === 1 ? process.stdout : process.stderr).write(Buffer.from(bytes))
  return bytes.length
}

function bytesOf(data: unknown, encoding?: unknown): Buffer {
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return Buffer.from(String(data), Buffer.isEncoding(String(encoding)) ? (encoding as BufferEncoding) : 'utf8')
}

/** `(fd, text, position, encoding)`, `(fd, buffer, offset, length, position)` or `(fd, buffer, options)`. */
function written([fd, data, second, third]: readonly unknown[]): number {
  if (!ArrayBuffer.isView(data)) return print(fd, bytesOf(data, third))
  const bytes = bytesOf(data)
  const { offset = 0, length = bytes.length } = isRecord(second) ? second : { offset: second, length: third }
  const from = typeof offset === 'number' ? offset : 0
  return print(fd, bytes.subarray(from, from + (typeof length === 'number' ? length : bytes.length)))
}

function writtenAll([fd, buffers]: readonly unknown[]): number {
  return (buffers as readonly unknown[]).reduce<number>((sum, each) => sum + print(fd, bytesOf(each)), 0)
}

function writtenWhole([fd, data, options]: readonly unknown[]): number {
  return print(fd, bytesOf(data, isRecord(options) ? options['encoding'] : options))
}
