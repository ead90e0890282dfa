/**
 * Image references, as far as the server parses them: whether a reference means the tag `latest`, so that the image is
 * always pulled. `nginx`, `nginx:latest` and `host:5000/nginx` do; `nginx:1.27` and anything with a digest do not.
 */
const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const pathPart = '[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*'
const reference = new RegExp(
  `^(?:${domain}/)?${pathPart}(?:/${pathPart})*(?::(?<tag>[\\w][\\w.-]{0,127}))?` +
    `(?<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
)
/** A bare digest is not a name. */
const identifier = /^[a-f0-9]{64}$/

export function isLatest(image: string): boolean {
  const groups = identifier.test(image) ? undefined : reference.exec(image)?.groups
  if (!groups) return false
  return groups['tag'] === 'latest' || (groups['tag'] === undefined && groups['digest'] === undefined)
}
