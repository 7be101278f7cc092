/** Letters that nobody sees, or that turn the order of others: nothing must hide behind them. Emoji keep theirs. */
const HIDDEN = /(?![\uFE0E\uFE0F])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** The same JSON text with everything visible, by the escapes that JSON has for it. */
export function toVisible(json: string): string {
  return json.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, index) => toEscape(character.charCodeAt(index))).join(''),
  )
}

function toEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
