/**
 * Removes `character` from the end of `text`. The regular expression `/x+$/` would take quadratic time on inner runs.
 */
export function trimTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}

/** Removes `character` from both ends of `text`. */
export function trimAround(text: string, character: string): string {
  let start = 0
  while (start < text.length && text[start] === character) start++
  return trimTrailing(text.slice(start), character)
}
