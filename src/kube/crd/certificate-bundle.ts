/** The CA bundle that a conversion webhook is trusted by. */
import { X509Certificate } from 'node:crypto'
import { pemBlocks } from '../text/pem.ts'

/** Whether the bundle is base64 of PEM with at least one certificate. Text that is not PEM is skipped, as Go does. */
export function isCertificateBundle(bundle: string): boolean {
  const blocks = Array.from(pemBlocks(Buffer.from(bundle, 'base64').toString())).filter(
    ({ type }) => type === 'CERTIFICATE',
  )
  return blocks.length > 0 && blocks.every(({ text }) => isCertificate(text))
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).serialNumber !== ''
  } catch {
    return false
  }
}
