import type { ReactNode } from 'react'

const fence = /^```[^\n]*\n([\s\S]*?)(?:\n```[^\S\n]*$|$(?![\s\S]))/m
const inline = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}])/

/** What a person has written: line breaks stay, code, bold and web addresses are marked up, the rest is shown as it came. */
export function ReplyText({ text }: { text: string }) {
  return <div className="grid grid-cols-1 gap-3 break-words [overflow-wrap:anywhere]">{splitBlocks(text)}</div>
}

function splitBlocks(text: string): ReactNode[] {
  return splitBy(
    text,
    fence,
    (rest, key) =>
      rest.trim() && (
        <p key={key} className="whitespace-pre-wrap">
          {splitInline(rest.replace(/^\n+|\n+$/g, ''))}
        </p>
      ),
    ([, code], key) => (
      <pre
        key={key}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable by keyboard
        tabIndex={0}
        className="overflow-x-auto rounded-md bg-sunken px-3 py-2.5 font-mono text-[0.8125rem]"
      >
        {code}
      </pre>
    ),
  )
}

function splitInline(text: string): ReactNode[] {
  return splitBy(
    text,
    inline,
    (rest) => rest,
    ([, code, bold, url], key) => {
      if (code) {
        return (
          <code key={key} className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.875em]">
            {code}
          </code>
        )
      }
      if (bold) return <strong key={key}>{bold}</strong>
      return (
        <a key={key} href={url} target="_blank" rel="noopener noreferrer" className="text-accent underline">
          {url}
        </a>
      )
    },
  )
}

/** Cuts `text` at each match and renders what lies between and the matches themselves, in order. */
function splitBy(
  text: string,
  pattern: RegExp,
  renderRest: (rest: string, key: number) => ReactNode,
  renderMatch: (match: RegExpMatchArray, key: number) => ReactNode,
): ReactNode[] {
  const parts: ReactNode[] = []
  let at = 0
  for (const match of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
    if (match.index > at) parts.push(renderRest(text.slice(at, match.index), at))
    parts.push(renderMatch(match, match.index + 0.5))
    at = match.index + match[0].length
  }
  if (at < text.length) parts.push(renderRest(text.slice(at), at))
  return parts
}
