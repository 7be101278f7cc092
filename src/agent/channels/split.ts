/** The shortest part that a break at a line or a word may leave, as a share of the longest. */
const SHORTEST_SHARE = 0.5

/** Cuts a text into messages of at most `maxChars` UTF-16 units, after a line or a word where that is not too early. */
export function splitText(text: string, maxChars: number): string[] {
  const parts: string[] = []
  let rest = text.trim()
  while (rest.length > maxChars) {
    const end = findBreak(rest, maxChars)
    parts.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  return rest === '' ? parts : [...parts, rest]
}

function findBreak(text: string, maxChars: number): number {
  const shortest = maxChars * SHORTEST_SHARE
  const line = text.lastIndexOf('\n', maxChars)
  if (line > shortest) return line
  const word = text.lastIndexOf(' ', maxChars)
  if (word > shortest) return word
  // Half of a pair of surrogates is no character.
  return /[\uD800-\uDBFF]/.test(text[maxChars - 1] ?? '') ? maxChars - 1 : maxChars
}
