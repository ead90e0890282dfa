/** The message of an error, in one line, for a log. */
export function messageText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
