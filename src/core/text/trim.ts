/** Returns `text` without every `character` at its end. `/x+$/` would take quadratic time on a run of them further left. */
export function trimTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}

/** Returns `text` without every `character` at either end. */
export function trimAround(text: string, character: string): string {
  let start = 0
  while (start < text.length && text[start] === character) start++
  return trimTrailing(text.slice(start), character)
}
