import { isUtf8 } from 'node:buffer'
import { Readability } from '@mozilla/readability'
import sniffEncoding from 'html-encoding-sniffer'
import TurndownService from 'turndown'
import { z } from 'zod'
import type { ChannelFunctions } from '../files/channel.ts'
import { type PageContent, readHtmlPage, toHttpUrl, truncate } from './read.ts'
import { attributeOf, type PageElement, type PageNode, parsePage, walkPage } from './walk.ts'

/** A page as it was fetched: `bytes` in base64, `url` is where it came from. */
const Source = z.object({ bytes: z.string(), contentType: z.string(), url: z.string(), wantsMarkdown: z.boolean() })

/**
 * `markdown` is null when it was not requested, when there is no main content, and when the page is too large to find
 * it.
 */
export type ReadPage = { page: PageContent; markdown: string | null }

/** Finding the main content takes much longer than reading the rest. */
const MAX_MARKS_FOR_MARKDOWN = 20_000
const MAX_LENGTH_FOR_MARKDOWN = 1_500_000

export function openParser(): ChannelFunctions {
  return { read: async (source) => read(Source.parse(source)) }
}

function read({ bytes, contentType, url, wantsMarkdown }: z.infer<typeof Source>): ReadPage {
  const { html, marks } = trimPage(decodePage(Buffer.from(bytes, 'base64'), contentType))
  const page = readHtmlPage(html, url)
  const isSmall = marks <= MAX_MARKS_FOR_MARKDOWN && html.length <= MAX_LENGTH_FOR_MARKDOWN
  return { page, markdown: wantsMarkdown && isSmall ? toMarkdown(parsePage(html), url) : null }
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i

/**
 * Decodes a page by its byte order mark, `contentType` or own declaration (HTML Standard, 13.2.3); otherwise as UTF-8
 * if valid, else windows-1252.
 */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const encoding = sniffEncoding(bytes, {
    xml: /^\s*application\/xhtml\+xml/i.test(contentType),
    transportLayerEncodingLabel: CHARSET.exec(contentType)?.[1],
    defaultEncoding: isUtf8(bytes) ? 'UTF-8' : 'windows-1252',
  })
  return new TextDecoder(toDecoderLabel(encoding)).decode(bytes)
}

/** `replacement` marks encodings that can hide markup; it has no decoder. */
function toDecoderLabel(encoding: string): Bun.Encoding {
  const label = encoding === 'replacement' ? 'utf-8' : encoding.toLowerCase()
  // Bun's type lists only some of the supported labels.
  return label as Bun.Encoding
}

/** Beyond these limits the parser's cost grows faster than the page; real pages stay below. */
const MAX_MARKS = 40_000
const MAX_DEPTH = 500

/** Elements that need no end tag, so their start tag does not increase the depth. */
const WITHOUT_END = new Set(
  (
    'area base br col embed hr img input link meta param source track wbr ' +
    'p li dt dd td th tr thead tbody tfoot option optgroup colgroup rt rp html head body'
  ).split(' '),
)
const TAG_NAME = /\/?[a-z][a-z0-9]*/iy

/** Cuts `html` before its tags and entities become too many or too deep. `marks` is their approximate number. */
export function trimPage(html: string): { html: string; marks: number } {
  const open: string[] = []
  let marks = 0
  let tag = html.indexOf('<')
  let entity = html.indexOf('&')
  while (tag !== -1 || entity !== -1) {
    const isTag = entity === -1 || (tag !== -1 && tag < entity)
    const at = isTag ? tag : entity
    if (isTag) noteTag(open, html, at + 1)
    if (++marks > MAX_MARKS || open.length > MAX_DEPTH) return { html: html.slice(0, at), marks }
    if (isTag) tag = html.indexOf('<', at + 1)
    else entity = html.indexOf('&', at + 1)
  }
  return { html, marks }
}

/**
 * Tracks the names of open elements. An end tag also closes the elements inside; one without a start tag is ignored.
 */
function noteTag(open: string[], html: string, at: number): void {
  TAG_NAME.lastIndex = at
  if (!TAG_NAME.test(html)) return
  const isEnd = html[at] === '/'
  const name = html.slice(isEnd ? at + 1 : at, TAG_NAME.lastIndex).toLowerCase()
  if (WITHOUT_END.has(name)) return
  if (!isEnd) open.push(name)
  else if (open.at(-1) === name) open.pop()
  else if (open.includes(name)) open.length = open.lastIndexOf(name)
}

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
