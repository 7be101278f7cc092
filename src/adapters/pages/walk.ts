import { Parser } from 'htmlparser2'
import { DOMParser } from 'linkedom'

/** The used part of linkedom's node type. */
export type PageNode = {
  nodeType: number
  localName?: string
  data?: string
  textContent: string | null
  parentNode: PageNode | null
  firstChild: PageNode | null
  childNodes: Iterable<PageNode>
  nextSibling: PageNode | null
}

export type PageElement = PageNode & {
  localName: string
  getAttribute(name: string): string | null
  getAttributeNames(): string[]
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
}

type PageVisitor = {
  /** `name` is in lower case. Return false to skip the children; `leave` is still called. */
  enter(element: PageElement, name: string): boolean
  leave(element: PageElement, name: string): void
  text(text: string): void
}

const ELEMENT = 1
const TEXT = 3
const CDATA = 4

const BODY = /<body[\s>]/i
const DOCTYPE = /<!doctype/gi

/** Attributes by lower-case name; the first of equal names. */
export type Attributes = Readonly<Partial<Record<string, string>>>

type Scanner = {
  /** `name` is in lower case. Return false to skip the children; `leave` is still called. */
  enter(name: string, attributes: Attributes): boolean
  leave(name: string): void
  text(text: string): void
}

/**
 * Visits the nodes of a page in document order as linkedom's parser reads it, also of malformed HTML, without building
 * a tree.
 */
export function scanPage(html: string, scanner: Scanner): void {
  let leftOutDepth = 0
  const parser = new Parser({
    onopentag(name, attributes) {
      if (leftOutDepth > 0) leftOutDepth++
      else if (!scanner.enter(name, attributes)) leftOutDepth = 1
    },
    onclosetag(name) {
      if (leftOutDepth > 0) leftOutDepth--
      if (leftOutDepth === 0) scanner.leave(name)
    },
    ontext(text) {
      if (leftOutDepth === 0) scanner.text(text)
    },
  })
  parser.end(withBody(html))
}

/** Parses a page, also malformed HTML; scripts never run. Adds the body, because linkedom does not. */
export function parsePage(html: string): PageNode {
  // Removes document types, which are unused and slow to parse.
  const typeless = html.replace(DOCTYPE, '<!')
  return toPageNode(new DOMParser().parseFromString(withBody(typeless), 'text/html'))
}

function withBody(html: string): string {
  return BODY.test(html) ? html : `<html><body>${html}`
}

/** linkedom's types require browser types, which this project does not include. */
function toPageNode(node: unknown): PageNode {
  return node as PageNode
}

/** Visits all nodes below `root` in document order, without recursion because pages can be deep. */
export function walkPage(root: PageNode, visitor: PageVisitor): void {
  // The document type has no next sibling in linkedom, so the top is a list.
  for (const top of root.childNodes) walkFrom(top, visitor)
}

function walkFrom(top: PageNode, visitor: PageVisitor): void {
  let node: PageNode | null = top
  while (node) {
    const inside = visit(node, visitor)
    node = inside ?? climb(node, top, visitor)
  }
}

/** Leaves finished elements. @returns the next node below `top`, null when there is none. */
function climb(from: PageNode, top: PageNode, visitor: PageVisitor): PageNode | null {
  let node = from
  while (node !== top) {
    if (node.nextSibling) return node.nextSibling
    if (!node.parentNode) return null
    node = node.parentNode
    leave(node, visitor)
  }
  return null
}

/** @returns the first child when the visitor enters the element and it has one. */
function visit(node: PageNode, visitor: PageVisitor): PageNode | null {
  if (node.nodeType === TEXT || node.nodeType === CDATA) visitor.text(node.data ?? '')
  if (!isElement(node)) return null
  const inside = visitor.enter(node, node.localName.toLowerCase()) ? node.firstChild : null
  if (!inside) leave(node, visitor)
  return inside
}

function leave(node: PageNode, visitor: PageVisitor): void {
  if (isElement(node)) visitor.leave(node, node.localName.toLowerCase())
}

function isElement(node: PageNode): node is PageElement {
  return node.nodeType === ELEMENT
}

/** An attribute by its name in lower case: the parser keeps the case in which the page wrote it. */
export function attributeOf(element: PageElement, name: string): string | null {
  const value = element.getAttribute(name)
  if (value !== null) return value
  const written = element.getAttributeNames().find((other) => other.toLowerCase() === name)
  return written === undefined ? null : element.getAttribute(written)
}
