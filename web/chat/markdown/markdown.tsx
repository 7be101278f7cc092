import { memo, type ReactElement } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkBreaks from 'remark-breaks'
import remarkGfm from 'remark-gfm'
import { closeInline, splitBlocks } from './blocks.ts'
import { CodeBlock } from './code-block.tsx'

const plugins = [remarkGfm, remarkBreaks]
const LINKED = /^(?:https?:|mailto:)/i

type MarkdownProps = { text: string; isGrowing?: boolean }

/**
 * What an agent says, as the Markdown that it is. HTML in it is shown as text, pictures of elsewhere are links: nothing is
 * loaded and nothing of it runs. While it grows only its last block is parsed again.
 */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  const blocks = splitBlocks(text)
  return (
    <div className="reply">
      {blocks.map((block, index) => {
        const isLast = isGrowing && index === blocks.length - 1
        // biome-ignore lint/suspicious/noArrayIndexKey: a growing text only ever gets more blocks
        if (block.kind === 'code') return <CodeBlock key={index} {...block} />
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        return <TextBlock key={index} text={isLast ? closeInline(block.text) : block.text} />
      })}
    </div>
  )
}

const TextBlock = memo(({ text }: { text: string }) => parse(text))

/** So many blocks are remembered: what was parsed while an answer grew is not parsed again when it has become a message. */
const MAX_PARSED = 1000
const parsed = new Map<string, ReactElement>()

function parse(text: string): ReactElement {
  const known = parsed.get(text)
  if (known) return known
  const made = ReactMarkdown({ children: text, remarkPlugins: plugins, components, urlTransform: toSafeUrl })
  const [oldest] = parsed.keys()
  if (parsed.size >= MAX_PARSED && oldest !== undefined) parsed.delete(oldest)
  parsed.set(text, made)
  return made
}

/** Only the web and mail are linked to; whatever else an address may set off is shown as its words. */
function toSafeUrl(url: string): string {
  return LINKED.test(url) ? url : ''
}

const components: Components = {
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  // The policy of the dashboard loads nothing from elsewhere.
  img: ({ src, alt }) =>
    typeof src === 'string' && src ? (
      <a href={src} target="_blank" rel="noopener noreferrer">
        {alt || src}
      </a>
    ) : (
      <span>{alt}</span>
    ),
  input: ({ checked }) => <input type="checkbox" disabled checked={checked} aria-label={checked ? 'Done' : 'To do'} />,
  pre: ({ children }) => children,
  code: ({ className, children }) => {
    const code = String(children ?? '')
    // Code that stands by itself ends with a line break, code in a line has none.
    if (!code.endsWith('\n')) return <code>{children}</code>
    return <CodeBlock code={code.slice(0, -1)} language={className?.replace('language-', '') ?? ''} isOpen={false} />
  },
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable by keyboard
    // biome-ignore lint/a11y/useSemanticElements: no field set, and no landmark: an answer may have many
    <div role="group" aria-label="Table" tabIndex={0} className="overflow-x-auto">
      <table>{children}</table>
    </div>
  ),
}
