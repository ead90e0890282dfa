/** What careless code does with file descriptors that are not its own, and how it prints past `console`: for tests. */
import fs from 'node:fs'
import net from 'node:net'
import tty from 'node:tty'

/** Uses the descriptor `fd`, which another thread has opened, in each way that there is. Names the ways that worked. */
export async function meddle(fd: number): Promise<string> {
  const bytes = Buffer.from('meddled')
  const attempts: Readonly<Record<string, () => unknown>> = {
    read: () => fs.readSync(fd, Buffer.alloc(1)),
    readFile: () => fs.readFileSync(fd),
    write: () => fs.writeSync(fd, bytes),
    writeFile: () => fs.writeFileSync(fd, bytes),
    appendFile: () => fs.appendFileSync(fd, bytes),
    writev: () => fs.writevSync(fd, [bytes]),
    stat: () => fs.fstatSync(fd),
    truncate: () => fs.ftruncateSync(fd),
    mode: () => fs.fchmodSync(fd, 0o777),
    times: () => fs.futimesSync(fd, 0, 0),
    sync: () => fs.fsyncSync(fd),
    stream: () => once((done) => fs.createReadStream('', { fd }).on('error', done).on('close', done).resume()),
    'write stream': () => once((done) => fs.createWriteStream('', { fd }).on('error', done).end(bytes, done)),
    socket: () => new net.Socket({ fd }).destroy(),
    connect: () => net.connect({ fd, port: 1 } as net.NetConnectOpts).destroy(),
    listen: () => once((done) => net.createServer().on('error', done).listen({ fd }, done)),
    terminal: () => new tty.ReadStream(fd).destroy(),
    close: () => fs.closeSync(fd),
    'close later': () => once((done) => fs.close(fd, done)),
    'close in a callback': async () => await (await import('node:util')).promisify(fs.close)(fd),
  }
  const done: string[] = []
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt()
      done.push(name)
    } catch {
      // As it should be.
    }
  }
  return done.join(' ') || ownFile()
}

function once(start: (done: (error?: Error | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => void start((error) => (error ? reject(error) : resolve())))
}

/** Its own descriptors serve it as ever. */
async function ownFile(): Promise<string> {
  const file = import.meta.filename
  const size = fs.statSync(file).size
  const own = fs.openSync(file, 'r')
  const read = [fs.readFileSync(own).length, fs.fstatSync(own).size]
  fs.closeSync(own)
  const later = await new Promise<number>((resolve, reject) => {
    fs.open(file, 'r', (error, fd) => (error ? reject(error) : resolve(fd)))
  })
  read.push(fs.fstatSync(later).size)
  await once((done) => fs.close(later, done))
  let streamed = 0
  for await (const chunk of fs.createReadStream(file)) streamed += (chunk as Buffer).length
  read.push(streamed)
  await using handle = await fs.promises.open(file)
  read.push((await handle.readFile()).length)
  return read.every((each) => each === size) ? 'nothing' : 'its own are of no use'
}

/** Prints `word` past `console`, each time with the number of the way. */
export async function print(word: string): Promise<string> {
  const text = (way: number): string => `${word}-${way}\n`
  const bytes = (way: number): Buffer => Buffer.from(`..${text(way)}..`)
  console.log(text(0))
  fs.writeSync(1, text(1))
  fs.writeSync(2, bytes(2), 2, text(2).length)
  await once((done) => fs.write(1, bytes(3), { offset: 2, length: text(3).length }, done))
  fs.writevSync(2, [Buffer.from(text(4))])
  fs.writeFileSync(1, text(5))
  fs.appendFileSync(2, text(6))
  await once((done) => fs.write(1, text(7), done))
  await once((done) => fs.writev(2, [Buffer.from(text(8))], done))
  await once((done) => fs.writeFile(1, text(9), done))
  await once((done) => fs.createWriteStream('', { fd: 2 }).on('error', done).end(text(10), done))
  Reflect.apply(Reflect.get(process, '_rawDebug') as (text: string) => void, process, [text(11)])
  process.stderr.write(text(12))
  process.emitWarning(text(13))
  // Closing them is closing nothing.
  fs.closeSync(1)
  await once((done) => fs.close(2, done))
  fs.writeSync(1, text(14))
  return 'printed'
}

export const waysToPrint = 15
