/**
 * Loopback: names and addresses that always lead to this machine.
 *
 * One parser for every check: a comparison by prefix would accept `127.evil.com`, a DNS name that may resolve to any address.
 */

/** `localhost`, an IPv4 address in 127.0.0.0/8 or `::1`, without brackets and port. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase()
  return name === 'localhost' || name === '::1' || /^127(?:\.(?:0|[1-9]\d{0,2})){3}$/.test(name)
}

/** Whether a `Host` header, with or without a port, names this machine. */
export function isLoopbackHostHeader(header: string): boolean {
  const [, ipv6, name] = /^(?:\[([\da-f:]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(header) ?? []
  return isLoopback(ipv6 ?? name ?? '')
}
