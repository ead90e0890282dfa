/** The SOCKS5 handshake (RFC 1928, with the passwords of RFC 1929): afterwards the socket leads to the target. */
import type { Socket } from 'node:net'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'

interface Socks5Target {
  readonly host: string
  readonly port: number
  readonly user?: string | undefined
  readonly password?: string | undefined
}

const version = 5
const method = { none: 0, password: 2, unacceptable: 0xff } as const
const command = { connect: 1 } as const
/** The target is sent as a name even if it is an address: every proxy accepts that, and names resolve at the proxy. */
const address = { ipv4: 1, name: 3, ipv6: 4 } as const

const refusals: Readonly<Record<number, string>> = {
  1: 'it failed',
  2: 'its rules do not allow this address',
  3: 'the network is unreachable from there',
  4: 'the host is unreachable from there',
  5: 'the server refused the connection',
  6: 'it took too long',
  7: 'it does not offer connections',
  8: 'it does not take this kind of address',
}

/** Performs the handshake on `socket`. `place` names the proxy in messages. */
export async function openSocks5(
  socket: Socket,
  target: Socks5Target,
  place: string,
  signal: AbortSignal,
): Promise<void> {
  const reader = byteReader(socket, place, signal)
  try {
    await converse(socket, target, place, (size) => reader.read(size))
  } finally {
    reader.release()
  }
}

async function converse(
  socket: Socket,
  target: Socks5Target,
  place: string,
  read: (size: number) => Promise<Uint8Array>,
): Promise<void> {
  const fail = (why: string): MusterError => new MusterError(clientErrors.ProxyFailed, `${place}: ${why}.`)
  const methods = target.user === undefined ? [method.none] : [method.none, method.password]
  socket.write(Uint8Array.from([version, methods.length, ...methods]))
  const [spoken, chosen] = await read(2)
  if (spoken !== version) throw fail('the reply is not SOCKS 5')
  if (chosen === method.password && target.user !== undefined) {
    socket.write(Uint8Array.from([1, ...counted(target.user), ...counted(target.password ?? '')]))
    const [, status] = await read(2)
    if (status !== 0) throw fail('the proxy refuses the user or password')
  } else if (chosen !== method.none) {
    throw fail('the proxy asks for a user and password')
  }

  const port = [target.port >> 8, target.port & 0xff]
  socket.write(Uint8Array.from([version, command.connect, 0, address.name, ...counted(target.host), ...port]))
  const [, reply = 1, , kind] = await read(4)
  if (reply !== 0) {
    throw fail(`no connection to ${target.host}:${target.port}: ${refusals[reply] ?? `reply ${reply}`}`)
  }
  // The bound address of the proxy: unused, but it must be read.
  const length = kind === address.ipv4 ? 4 : kind === address.ipv6 ? 16 : ((await read(1))[0] ?? 0)
  await read(length + 2)
}

function counted(text: string): readonly number[] {
  const bytes = new TextEncoder().encode(text)
  return [bytes.length & 0xff, ...bytes]
}

interface ByteReader {
  read(size: number): Promise<Uint8Array>
  /** Leaves the following bytes on the socket to the caller. */
  release(): void
}

function byteReader(socket: Socket, place: string, signal: AbortSignal): ByteReader {
  const events = ['readable', 'end', 'close', 'error'] as const
  let wake = Promise.withResolvers<void>()
  const stir = (): void => {
    wake.resolve()
    wake = Promise.withResolvers()
  }
  // A new 'readable' listener for each read would fire at once, and again, while half a reply is buffered.
  for (const event of events) socket.on(event, stir)
  signal.addEventListener('abort', stir)
  return {
    async read(size) {
      for (;;) {
        signal.throwIfAborted()
        const bytes = socket.read(size) as Uint8Array | null
        if (bytes?.length === size) return bytes
        if (socket.destroyed || socket.readableEnded) {
          throw new MusterError(clientErrors.ProxyFailed, `${place}: the proxy closed the connection.`)
        }
        await wake.promise
      }
    },
    release() {
      for (const event of events) socket.removeListener(event, stir)
      signal.removeEventListener('abort', stir)
    },
  }
}
