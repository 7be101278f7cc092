import type { ReactNode } from 'react'

const FENCE = '```'
const inline = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}])/g

/** Renders a person's text: keeps line breaks, marks code, bold and web addresses. */
export function ReplyText({ text }: { text: string }) {
  return <div className="grid grid-cols-1 gap-3 break-words [overflow-wrap:anywhere]">{splitBlocks(text)}</div>
}

function splitBlocks(text: string): ReactNode[] {
  return cutFences(text).map(({ isCode, at, lines }) => {
    const content = lines.join('\n')
    if (!isCode) {
      return (
        content.trim() && (
          <p key={at} className="whitespace-pre-wrap">
            {splitInline(trimLines(content))}
          </p>
        )
      )
    }
    return (
      <pre
        key={at}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="overflow-x-auto rounded-md bg-sunken px-3 py-2.5 font-mono text-[0.8125rem]"
      >
        {content}
      </pre>
    )
  })
}

/** `at` is the index of its first line. An unclosed fence ends with the text. */
type Part = { isCode: boolean; at: number; lines: string[] }

function cutFences(text: string): Part[] {
  const lines = text.split('\n')
  const parts: Part[] = []
  for (const [at, line] of lines.entries()) {
    const last = parts.at(-1)
    if (last?.isCode && line.trimEnd() === FENCE) parts.push({ isCode: false, at, lines: [] })
    else if (!last?.isCode && line.startsWith(FENCE) && at < lines.length - 1)
      parts.push({ isCode: true, at, lines: [] })
    else if (last) last.lines.push(line)
    else parts.push({ isCode: false, at, lines: [line] })
  }
  return parts
}

function splitInline(text: string): ReactNode[] {
  const parts: ReactNode[] = []
  let at = 0
  for (const match of text.matchAll(inline)) {
    if (match.index > at) parts.push(text.slice(at, match.index))
    parts.push(renderMark(match))
    at = match.index + match[0].length
  }
  if (at < text.length) parts.push(text.slice(at))
  return parts
}

function renderMark({ 1: code, 2: bold, 3: url, index }: RegExpExecArray): ReactNode {
  if (code) {
    return (
      <code key={index} className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.875em]">
        {code}
      </code>
    )
  }
  if (bold) return <strong key={index}>{bold}</strong>
  return (
    <a key={index} href={url} target="_blank" rel="noopener noreferrer" className="text-accent underline">
      {url}
    </a>
  )
}

function trimLines(text: string): string {
  const lines = text.split('\n')
  const isText = (line: string) => line !== ''
  return lines.slice(lines.findIndex(isText), lines.findLastIndex(isText) + 1).join('\n')
}
