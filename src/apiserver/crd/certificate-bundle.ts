/** The certificates that a conversion webhook is trusted by. */
import { X509Certificate } from 'node:crypto'

/** Whether it is PEM, in base64, with at least one certificate in it. What is not PEM is skipped, as Go does. */
export function isCertificateBundle(bundle: string): boolean {
  const text = Buffer.from(bundle, 'base64').toString()
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  return blocks.length > 0 && blocks.every(isCertificate)
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).serialNumber !== ''
  } catch {
    return false
  }
}
