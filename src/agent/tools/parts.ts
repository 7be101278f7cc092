/** What one answer shows the model at most: a whole file of 1 MB would outgrow its window. */
const MAX_SHOWN_CHARS = 24_000

/** A long text in parts; `nextOffset` is where the next one begins. */
export function toPart(text: string, offset: number) {
  const end = offset + MAX_SHOWN_CHARS
  return { content: text.slice(offset, end), ...(end < text.length && { nextOffset: end, totalChars: text.length }) }
}
