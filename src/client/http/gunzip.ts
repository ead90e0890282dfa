/** A gzip body, decompressed as it arrives. */
import { errorCode } from '../../system/error-code.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'

/** `what` names the request in the message if the bytes are not gzip. */
export function gunzip(body: AsyncIterable<Uint8Array>, what: string): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const source = body[Symbol.asyncIterator]()
      let plain: AsyncGenerator<Uint8Array, undefined> | undefined
      let left = false

      async function* inflate(): AsyncGenerator<Uint8Array, undefined> {
        const { createGunzip } = process.getBuiltinModule('node:zlib')
        const { pipeline } = process.getBuiltinModule('node:stream')
        // An error of the pipeline reaches the reader of its last stream.
        const bytes = pipeline({ [Symbol.asyncIterator]: () => source }, createGunzip(), () => {})
        try {
          yield* bytes as AsyncIterable<Uint8Array>
        } catch (error) {
          if (left) return
          if (!errorCode(error)?.startsWith('Z_')) throw error
          throw new MusterError(clientErrors.ProtocolError, `${what}: the answer claims to be gzip and is not.`, {
            cause: error,
          })
        }
      }

      return {
        next: () => (plain ??= inflate()).next(),
        async return() {
          left = true
          // The source first: an idle stream may never deliver another chunk that wakes the generator.
          await source.return?.()
          await plain?.return(undefined)
          return { done: true, value: undefined }
        },
      }
    },
  }
}
