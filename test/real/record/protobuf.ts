/**
 * Creates every object twice in a dry run, once answered in JSON and once in protobuf. The bytes are masked as bytes:
 * reading them is what is to be tested with them.
 */
import { isJsonObject, parseJson, stringifyJson } from '../../../src/kube/json.ts'
import { type ProtobufVector, protobufCases } from '../../vectors/cases/protobuf.ts'
import { type Recorder, mapInTurns } from './recorder.ts'

const uidPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const uid = '00000000-0000-4000-8000-000000000000'
/** The administrator of each cluster has a certificate of its own, which requests for certificates tell of. */
const certificatePattern = /X509SHA256=[0-9a-f]{64}/g
const certificate = `X509SHA256=${'0'.repeat(64)}`
const moment = Date.UTC(2026, 0, 1) / 1000

export const protobufRecorder: Recorder<ProtobufVector> = {
  set: 'protobuf',
  async record(api) {
    return await mapInTurns(protobufCases, async ({ path, body }): Promise<ProtobufVector> => {
      const before = Math.floor(Date.now() / 1000)
      const ask = async (accept: string): Promise<string> => {
        const query = path.includes('review') ? {} : { dryRun: 'All' }
        const answer = await api.call('POST', path, { body, accept, query })
        if (answer.status > 201) throw new Error(`${path}: ${answer.status} ${answer.message}`)
        return isJsonObject(answer.body) ? stringifyJson(answer.body) : (answer.body as string)
      }
      const json = await ask('application/json')
      const bytes = await ask('application/vnd.kubernetes.protobuf')
      const after = Math.ceil(Date.now() / 1000)
      const plain = (said: string): string =>
        said.replaceAll(uidPattern, uid).replaceAll(certificatePattern, certificate)
      let [text, binary] = [plain(json), plain(bytes)]
      for (let second = before - 1; second <= after + 1; second++) {
        text = text.replaceAll(`${new Date(second * 1000).toISOString().slice(0, -5)}Z`, '2026-01-01T00:00:00Z')
        binary = binary.replaceAll(varint(second), varint(moment))
      }
      const { apiVersion, kind } = body as { readonly apiVersion: string; readonly kind: string }
      const object = parseJson(text) as object
      return { name: `${apiVersion} ${kind}`, object, protobuf: Buffer.from(binary, 'latin1').toString('base64') }
    })
  },
}

function varint(value: number): string {
  let [text, rest] = ['', value]
  for (; rest >= 128; rest = Math.floor(rest / 128)) text += String.fromCharCode((rest % 128) | 128)
  return text + String.fromCharCode(rest)
}
