/** A fenced code block, or the text between two blank lines. */
type Block = { kind: 'text'; text: string } | { kind: 'code'; code: string; language: string; isOpen: boolean }

const FENCE = /^(?:`{3,}|~{3,})/
/** The start of a list item, possibly incomplete. */
const LIST_ITEM = /^(?:[-*+]|\d{1,9}[.)]?)(?:\s|$)/
const DEFINITION = /^\[[^\]]+\]:\s*\S/

/**
 * Splits Markdown into blocks that parse independently, so that a growing text reparses only its last block. Link
 * reference definitions are appended to each block that may use them.
 */
export function splitBlocks(text: string): Block[] {
  const cut = cutLines(text.split('\n'))
  const definitions = cut.flatMap((block) =>
    block.kind === 'text' ? block.lines.filter((line) => DEFINITION.test(line)) : [],
  )
  return cut.map((block) => {
    if (block.kind === 'code')
      return { kind: 'code', code: block.lines.join('\n'), language: block.language, isOpen: block.isOpen }
    const own = block.lines.join('\n')
    const isLinked = definitions.length > 0 && own.includes('[')
    return { kind: 'text', text: isLinked ? `${own}\n\n${definitions.join('\n')}` : own }
  })
}

type Cut = { kind: 'text'; lines: string[] } | { kind: 'code'; lines: string[]; language: string; isOpen: boolean }

function cutLines(lines: readonly string[]): Cut[] {
  const blocks: Cut[] = []
  let fence = ''
  let isAfterBlank = true
  for (const line of lines) {
    const last = blocks.at(-1)
    if (last?.kind === 'code' && last.isOpen) {
      if (isClosing(line, fence)) last.isOpen = false
      else last.lines.push(line)
      isAfterBlank = true
      continue
    }
    const opening = FENCE.exec(line)?.[0]
    const words = line.slice(opening?.length)
    if (opening !== undefined && !words.includes('`')) {
      fence = opening
      blocks.push({ kind: 'code', lines: [], language: words.trim().split(/\s/, 1)[0] ?? '', isOpen: true })
      continue
    }
    const isBlank = line.trim() === ''
    if (!isBlank && (last?.kind !== 'text' || (isAfterBlank && !goesOn(last.lines, line)))) {
      blocks.push({ kind: 'text', lines: [line] })
    } else if (last?.kind === 'text') last.lines.push(line)
    isAfterBlank = isBlank
  }
  return blocks
}

function isClosing(line: string, fence: string): boolean {
  const end = line.trim()
  return end.length >= fence.length && end === (fence[0] ?? '').repeat(end.length)
}

/** Indented lines continue a block, and lists continue across blank lines. */
function goesOn(before: readonly string[], line: string): boolean {
  return /^\s/.test(line) || (LIST_ITEM.test(line) && LIST_ITEM.test(before[0] ?? ''))
}

/** Closes unfinished bold, code and links of a growing text, so that its look does not flicker. */
export function closeInline(text: string): string {
  const withoutLink = withoutOpenLink(text)
  const line = withoutLink.slice(withoutLink.lastIndexOf('\n\n') + 1)
  if (count(line, '`') % 2 === 1) return `${withoutLink}\``
  if (count(line, '**') % 2 === 0) return withoutLink
  return withoutLink.endsWith('**') ? withoutLink.slice(0, -2) : `${withoutLink.trimEnd().replace(/\*$/, '')}**`
}

/** Replaces an unfinished link or image at the end by its label. */
function withoutOpenLink(text: string): string {
  const closed = Math.max(text.lastIndexOf(')'), text.lastIndexOf('\n'))
  const end = text.indexOf('](', closed + 1)
  const start = end === -1 ? -1 : text.lastIndexOf('[', end - 1)
  const label = text.slice(start + 1, end)
  if (start === -1 || label.includes(']') || label.includes('\n')) return text
  return text.slice(0, text[start - 1] === '!' ? start - 1 : start) + label
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}
