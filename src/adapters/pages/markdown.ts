import { Readability } from '@mozilla/readability'
import TurndownService from 'turndown'
import { toHttpUrl, truncate } from './read.ts'
import { attributeOf, type PageElement, type PageNode, walkPage } from './walk.ts'

const MAX_MARKDOWN = 100_000
const ADDRESSES: Readonly<Record<string, string>> = { a: 'href', img: 'src' }
const NAMES = new Set(['href', 'src', 'alt', 'title', 'class', 'id', 'rel', 'itemprop', 'role', 'hidden', 'style'])

/**
 * Returns the main content as Markdown with absolute URLs, or null. It modifies the document, so read everything else
 * first.
 */
export function toMarkdown(document: PageNode, base: string): string | null {
  prepare(document, base)
  const article = new Readability<PageNode>(toReadable(document), {
    serializer: (element) => toNode(element),
  }).parse()
  if (!article?.content) return null
  const markdown = createTurndown().turndown(toTurnable(article.content)).trim()
  return markdown === '' ? null : truncate(markdown, MAX_MARKDOWN)
}

function createTurndown(): TurndownService {
  const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
  return turndown.remove(['script', 'style', 'iframe', 'title'])
}

/** Lower-cases attribute names for Readability and makes URLs absolute. */
function prepare(document: PageNode, base: string): void {
  walkPage(document, {
    enter(element, name) {
      lowerNames(element)
      const attribute = ADDRESSES[name]
      const value = attribute === undefined ? null : attributeOf(element, attribute)
      if (attribute !== undefined && value !== null) setAddress(element, attribute, toHttpUrl(value, base))
      return true
    },
    leave() {},
    text() {},
  })
}

function lowerNames(element: PageElement): void {
  for (const name of element.getAttributeNames()) {
    const lower = name.toLowerCase()
    if (name === lower || !NAMES.has(lower)) continue
    const value = element.getAttribute(name) ?? ''
    element.removeAttribute(name)
    element.setAttribute(lower, value)
  }
}

function setAddress(element: PageElement, attribute: string, address: string | null): void {
  if (address === null) element.removeAttribute(attribute)
  else element.setAttribute(attribute, address)
}

/** Both libraries are typed for a browser's document; linkedom's is close enough (their own documentation says so). */
function toReadable(document: PageNode): ConstructorParameters<typeof Readability>[0] {
  return document as unknown as ConstructorParameters<typeof Readability>[0]
}

function toTurnable(node: PageNode): TurndownService.Node {
  return node as unknown as TurndownService.Node
}

function toNode(node: unknown): PageNode {
  return node as PageNode
}
