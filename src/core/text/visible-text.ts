/** Invisible and direction-changing characters, which could hide text. Emoji keep their variation selectors. */
const HIDDEN = /(?![\uFE0E\uFE0F])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Escapes invisible characters of a JSON text. */
export function toVisible(json: string): string {
  return json.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, index) => toEscape(character.charCodeAt(index))).join(''),
  )
}

function toEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
