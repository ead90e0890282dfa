/** Validation of `spec.conversion` of a CRD. */
import { type Cause, forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../validation/cause.ts'
import type { CustomResourceConversion, WebhookClientConfig } from '../types/apiextensions/v1.ts'
import { dns1035Label, dnsSubdomain } from '../validation/name-validation.ts'
import { urlParts } from '../validation/url-parts.ts'
import { repeatedValues } from '../validation/repetition.ts'

export function conversionCauses(
  conversion: Partial<CustomResourceConversion> | undefined,
  path: string,
): readonly Cause[] {
  if (!conversion) return []
  const { strategy = '', webhook } = conversion
  const at = { client: `${path}.webhookClientConfig`, versions: `${path}.conversionReviewVersions` }
  const { clientConfig } = webhook ?? {}
  const conversionReviewVersions = webhook?.conversionReviewVersions ?? []
  const causes: Cause[] = []
  if (strategy === '') causes.push(requiredValue(`${path}.strategy`))
  else if (strategy !== 'None' && strategy !== 'Webhook') {
    causes.push(unsupportedValue(`${path}.strategy`, strategy, ['None', 'Webhook']))
  }
  if (strategy !== 'Webhook') {
    const why = 'should not be set when strategy is not set to Webhook'
    if (clientConfig) causes.push(forbiddenValue(at.client, why))
    if (conversionReviewVersions.length > 0) causes.push(forbiddenValue(at.versions, why))
    return causes
  }
  return [
    ...causes,
    ...(clientConfig
      ? clientCauses(clientConfig, at.client)
      : [requiredValue(at.client, 'required when strategy is set to Webhook')]),
    ...reviewVersionCauses(conversionReviewVersions, at.versions),
  ]
}

function clientCauses({ url, service }: WebhookClientConfig, path: string): readonly Cause[] {
  if ((url === undefined) === (service === undefined)) {
    return [requiredValue(path, 'exactly one of url or service is required')]
  }
  return url === undefined ? serviceCauses(service!, `${path}.service`) : urlCauses(url, `${path}.url`)
}

const form = '; desired format: https://host[/path]'

function urlCauses(url: string, path: string): readonly Cause[] {
  const { scheme, authority, query, fragment } = urlParts(url)
  const at = authority.lastIndexOf('@')
  const host = authority.slice(at + 1)
  return [
    ...(scheme.toLowerCase() === 'https'
      ? []
      : [invalidValue(path, scheme, `'https' is the only allowed URL scheme${form}`)]),
    ...(host === '' ? [invalidValue(path, host, `host must be specified${form}`)] : []),
    ...(at < 0 ? [] : [invalidValue(path, authority.slice(0, at), 'user information is not permitted in the URL')]),
    ...(fragment === '' ? [] : [invalidValue(path, fragment, 'fragments are not permitted in the URL')]),
    ...(query === '' ? [] : [invalidValue(path, query, 'query parameters are not permitted in the URL')]),
  ]
}

function serviceCauses(service: NonNullable<WebhookClientConfig['service']>, path: string): readonly Cause[] {
  const { name, namespace, port = 443, path: urlPath = '' } = service
  const isPort = port >= 1 && port <= 65_535
  return [
    ...(namespace ? [] : [requiredValue(`${path}.name`)]),
    ...(name ? [] : [requiredValue(`${path}.namespace`)]),
    ...(isPort
      ? []
      : [invalidValue(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive')]),
    ...pathCauses(urlPath, `${path}.path`),
  ]
}

function pathCauses(urlPath: string, path: string): readonly Cause[] {
  if (urlPath === '' || urlPath === '/') return []
  const refuse = (detail: string): Cause => invalidValue(path, urlPath, detail)
  if (urlPath === '//') return [refuse('segment[0] may not be empty')]
  const steps = urlPath.slice(1).replace(/\/$/, '').split('/')
  return [
    ...(urlPath.startsWith('/') ? [] : [refuse("must start with a '/'")]),
    ...steps.flatMap((step, index) =>
      step === ''
        ? [refuse(`segment[${index}] may not be empty`)]
        : dnsSubdomain(step).map((problem) => refuse(`segment[${index}]: ${problem}`)),
    ),
  ]
}

const recognized = ['v1', 'v1beta1']

function reviewVersionCauses(versions: readonly string[], path: string): readonly Cause[] {
  if (versions.length === 0) return [requiredValue(path)]
  const repeated = repeatedValues(versions)
  const causes = versions.flatMap((version, index) => {
    const at = `${path}[${index}]`
    if (repeated.has(index)) return [invalidValue(at, version, 'duplicate version')]
    return dns1035Label(version).map((problem) => invalidValue(at, version, problem))
  })
  if (versions.some((version) => recognized.includes(version))) return causes
  return [...causes, invalidValue(path, versions, `must include at least one of ${recognized.join(', ')}`)]
}
