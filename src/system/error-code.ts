/** The `code` of a system error: `ENOENT`, `ECONNREFUSED`. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
