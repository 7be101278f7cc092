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
 * Renders an agent's Markdown. HTML is shown as text and remote images become links, so nothing is loaded or
 * executed.
 */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  const blocks = splitBlocks(text)
  return (
    <div className="reply">
      {blocks.map((block, index) => {
        const isLast = isGrowing && index === blocks.length - 1
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only appended
        if (block.kind === 'code') return <CodeBlock key={index} {...block} />
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        return <TextBlock key={index} text={isLast ? closeInline(block.text) : block.text} />
      })}
    </div>
  )
}

const TextBlock = memo(({ text }: { text: string }) => parse(text))

/** Keeps parsed blocks, so that a finished reply is not parsed again. */
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

/** Allows web and mail links only. */
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
  // The content security policy blocks remote images.
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
    // Only a code block ends with a line break.
    if (!code.endsWith('\n')) return <code>{children}</code>
    return <CodeBlock code={code.slice(0, -1)} language={className?.replace('language-', '') ?? ''} isOpen={false} />
  },
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    // biome-ignore lint/a11y/useSemanticElements: not a fieldset, and a landmark per table would be noise
    <div role="group" aria-label="Table" tabIndex={0} className="overflow-x-auto">
      <table>{children}</table>
    </div>
  ),
}
