/**
 * How well a line of the palette fits what was typed, 0 for not at all: each word must stand in its label or in the other
 * words for it. Letters that are only somewhere in it would offer pages for the name of an agent that is still looked up.
 */
export function rateEntry(_id: string, typed: string, [label = '', ...also]: readonly string[] = []): number {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const name = label.toLowerCase()
  const all = [name, ...also].join(' ').toLowerCase()
  if (!wanted.every((word) => all.includes(word))) return 0
  if (name.startsWith(wanted.join(' '))) return 1
  return wanted.every((word) => name.includes(word)) ? 0.8 : 0.5
}
