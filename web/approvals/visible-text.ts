/** Invisible and text-direction characters could hide what is being approved. Emoji sequences are kept. */
const HIDDEN = /(?![\uFE0E\uFE0F])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Returns the same JSON text with hidden characters escaped. */
export function toVisible(json: string): string {
  return json.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, index) => toEscape(character.charCodeAt(index))).join(''),
  )
}

function toEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
