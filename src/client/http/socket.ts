/** Opens sockets: a promise instead of events, ended by a signal. */
import type { Socket } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'

export async function openTcp(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const { connect } = process.getBuiltinModule('node:net')
  signal.throwIfAborted()
  return await opened(connect({ host, port, noDelay: true, keepAlive: true }), 'connect', signal)
}

/** The server is not verified yet: the caller does that before writing. */
export async function openTls(options: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
  const { connect } = process.getBuiltinModule('node:tls')
  signal.throwIfAborted()
  const socket = connect({ ...options, rejectUnauthorized: false })
  socket.setNoDelay(true)
  socket.setKeepAlive(true)
  return await opened(socket, 'secureConnect', signal)
}

function opened<T extends Socket>(socket: T, event: string, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      forget()
      socket.destroy()
      reject(error)
    }
    const abort = (): void => fail(signal.reason)
    const close = (): void => fail(new Error('closed'))
    const succeed = (): void => {
      forget()
      resolve(socket)
    }
    const forget = (): void => {
      signal.removeEventListener('abort', abort)
      socket.removeListener(event, succeed)
      socket.removeListener('close', close)
      socket.removeListener('error', fail)
    }
    signal.addEventListener('abort', abort)
    socket.once(event, succeed).once('close', close).once('error', fail)
    // Between two owners there is no error listener, and an error would end the process. The next owner sees `destroyed`.
    socket.on('error', () => {})
  })
}
