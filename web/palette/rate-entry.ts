/**
 * Rates a palette entry, 0 for no match: each word must start a word of its label or synonyms. Looser matching would
 * offer pages while agents are still being looked up.
 */
export function rateEntry(_id: string, typed: string, [label = '', ...also]: readonly string[] = []): number {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const name = label.toLowerCase()
  const all = [name, ...also].join(' ').toLowerCase()
  if (!wanted.every((word) => all.includes(word))) return 0
  if (name.startsWith(wanted.join(' '))) return 1
  return wanted.every((word) => name.includes(word)) ? 0.8 : 0.5
}
