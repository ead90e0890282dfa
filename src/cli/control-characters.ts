/** Text that others wrote, on somebody's terminal: characters that would command it are shown and not obeyed. */
export function isolateControl(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) =>
    character === '\n' || character === '\t' ? ' ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
