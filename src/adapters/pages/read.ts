import { type Attributes, scanPage } from './walk.ts'

type PageLink = { href: string; text: string }
type PageImage = { src: string; alt: string }

/** Data of a page. White space is normalized; URLs are absolute http or https. */
export type PageContent = {
  title: string
  description: string
  headings: string[]
  paragraphs: string[]
  wordCount: number
  links: PageLink[]
  images: PageImage[]
  meta: Record<string, string>
  lang: string | null
  canonical: string | null
  siteName: string | null
  /** ISO 8601. */
  publishedAt: string | null
}

const MAX_HEADINGS = 20
const MAX_PARAGRAPHS = 10
const MAX_LINKS = 50
const MAX_IMAGES = 20
const MAX_TEXT = 100
const HEADING_LENGTH = { min: 3, max: 199 }
const PARAGRAPH_LENGTH = { min: 21, max: 1999 }
/** Characters collected per element, with a margin for white space. */
const MAX_COLLECTED = 20_000
const MAX_METAS = 100
const MAX_META_VALUE = 2000
const MAX_CANDIDATES = 5000

const HEADINGS = new Set(['h1', 'h2', 'h3'])
/** Elements without visible text. */
const UNREAD = new Set(['script', 'style', 'template', 'iframe', 'noframes'])
/** Inline elements do not end a word; all others do. */
const INLINE = new Set(
  'a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark q ruby s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
)
const PUBLISHED = [
  'article:published_time',
  'og:article:published_time',
  'datepublished',
  'dc.date.issued',
  'dcterms.created',
  'dc.date',
  'date',
  'parsely-pub-date',
]
const WHITE_SPACE = /\s+/g
const LD_TYPE = /ld\+json/i
const LD_PUBLISHED = /"datePublished"\s*:\s*"([^"]{4,40})"/
const LD_MAX_LENGTH = 200_000

type Found = { name: string; text: string; href: string }

/** Raw data in document order, before normalization. */
type Gathered = {
  texts: Found[]
  images: { src: string; alt: string }[]
  metas: Map<string, string>
  wordCount: number
  base: string | null
  lang: string | null
  canonical: string | null
  publishedAt: string | null
}

/** Reads the HTML source without building a document, which would take most of the time. */
export function readHtmlPage(html: string, url: string): PageContent {
  const found = gather(html)
  const base = toHttpUrl(found.base ?? '', url) ?? url
  const titles = found.texts
    .filter(({ name }) => name === 'title' || name === 'h1')
    .map(({ name, text }) => ({ name, text: normalize(text) }))
  const titled = (wanted: string) => titles.find(({ name, text }) => name === wanted && text !== '')?.text
  const meta = found.metas
  return {
    title: titled('title') ?? titled('h1') ?? '',
    description: normalize(meta.get('description') ?? meta.get('og:description') ?? ''),
    headings: distinctTexts(
      found.texts.filter(({ name }) => HEADINGS.has(name)),
      HEADING_LENGTH,
      MAX_HEADINGS,
    ),
    paragraphs: distinctTexts(
      found.texts.filter(({ name }) => name === 'p'),
      PARAGRAPH_LENGTH,
      MAX_PARAGRAPHS,
    ),
    wordCount: found.wordCount,
    links: distinctLinks(
      found.texts.filter(({ name }) => name === 'a'),
      base,
    ),
    images: distinctImages(found.images, base),
    meta: Object.fromEntries([...meta].filter(([name]) => isShown(name))),
    lang: found.lang,
    canonical: found.canonical === null ? null : toHttpUrl(found.canonical, base),
    siteName: orNull(normalize(meta.get('og:site_name') ?? meta.get('application-name') ?? '')),
    publishedAt: publishedAt(found),
  }
}

/** Collapses and trims white space. */
function normalize(text: string): string {
  return text.replace(WHITE_SPACE, ' ').trim()
}

function gather(html: string): Gathered {
  const found: Gathered = {
    texts: [],
    images: [],
    metas: new Map(),
    wordCount: 0,
    base: null,
    lang: null,
    canonical: null,
    publishedAt: null,
  }
  /** Open elements whose text is collected. */
  const open: { depth: number; found: Found }[] = []
  const countWords = createWordCounter()
  let depth = 0
  let svgDepth = 0
  /** Content of the current structured-data script. */
  let data: string | null = null
  const add = (text: string) => {
    for (const { found: target } of open) if (target.text.length < MAX_COLLECTED) target.text += text
    if (open[0]?.found.name !== 'title') found.wordCount += countWords(text)
  }
  scanPage(html, {
    enter(name, attributes) {
      depth++
      if (!INLINE.has(name)) add(' ')
      if (name === 'svg') svgDepth++
      noteElement(found, name, attributes)
      if (name === 'script' && LD_TYPE.test(attributes.type ?? '')) {
        data = ''
        return true
      }
      const isTitleOfPicture = name === 'title' && svgDepth > 0
      if (UNREAD.has(name) || isTitleOfPicture) return false
      const target = toFound(name, attributes)
      if (target && found.texts.length < MAX_CANDIDATES) {
        found.texts.push(target)
        open.push({ depth, found: target })
      }
      return true
    },
    leave(name) {
      if (name === 'script' && data !== null) {
        found.publishedAt ??= LD_PUBLISHED.exec(data.slice(0, LD_MAX_LENGTH))?.[1] ?? null
        data = null
      }
      if (!INLINE.has(name)) add(' ')
      if (name === 'svg') svgDepth--
      if (open.at(-1)?.depth === depth) open.pop()
      depth--
    },
    text(text) {
      if (data === null) add(text)
      else if (data.length < LD_MAX_LENGTH) data += text
    },
  })
  return found
}

/** Creates a collector for elements whose text is used. */
function toFound(name: string, { href }: Attributes): Found | null {
  if (name === 'a') return href === undefined ? null : { name, text: '', href }
  return name === 'title' || name === 'p' || HEADINGS.has(name) ? { name, text: '', href: '' } : null
}

/** Reads an element's attributes; the first value of each kind is kept. */
function noteElement(found: Gathered, name: string, attributes: Attributes): void {
  if (name === 'html') found.lang ??= orNull(attributes.lang ?? attributes['xml:lang'] ?? '')
  else if (name === 'base') found.base ??= attributes.href ?? null
  else if (name === 'meta') noteMeta(found, attributes)
  else if (name === 'link' && tokens(attributes.rel).includes('canonical')) found.canonical ??= attributes.href ?? null
  else if (name === 'img' && attributes.src !== undefined && found.images.length < MAX_CANDIDATES) {
    found.images.push({ src: attributes.src, alt: attributes.alt ?? '' })
  }
}

/** A `property` may hold several names, separated by white space (RDFa). */
function noteMeta({ metas }: Gathered, { content = '', property, name, itemprop }: Attributes): void {
  const value = content.trim()
  if (value === '' || metas.size >= MAX_METAS) return
  const names = [property, name, itemprop].flatMap((text) => tokens(text))
  for (const each of names) if (!metas.has(each)) metas.set(each, truncate(value, MAX_META_VALUE))
}

function tokens(text = ''): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean)
}

function isShown(name: string): boolean {
  return name === 'description' || name.startsWith('og:') || name.startsWith('twitter:')
}

function distinctTexts(found: readonly Found[], length: { min: number; max: number }, max: number): string[] {
  const distinct = new Set<string>()
  for (const { text } of found) {
    if (distinct.size === max) break
    const normal = normalize(text)
    const size = countCharacters(normal)
    if (size >= length.min && size <= length.max) distinct.add(normal)
  }
  return [...distinct]
}

function distinctLinks(found: readonly Found[], base: string): PageLink[] {
  const byHref = new Map<string, string>()
  for (const { href, text } of found) {
    if (byHref.size === MAX_LINKS) break
    const absolute = toHttpUrl(href, base)
    if (absolute !== null && !byHref.has(absolute)) byHref.set(absolute, truncate(normalize(text), MAX_TEXT))
  }
  return [...byHref].map(([href, text]) => ({ href, text }))
}

function distinctImages(found: readonly PageImage[], base: string): PageImage[] {
  const bySrc = new Map<string, string>()
  for (const { src, alt } of found) {
    if (bySrc.size === MAX_IMAGES) break
    const absolute = src.trim() === '' ? null : toHttpUrl(src, base)
    if (absolute !== null && !bySrc.has(absolute)) bySrc.set(absolute, truncate(normalize(alt), MAX_TEXT))
  }
  return [...bySrc].map(([src, alt]) => ({ src, alt }))
}

/** Returns null for other schemes and invalid URLs. */
export function toHttpUrl(text: string, base: string): string | null {
  const url = URL.parse(text.trim(), base)
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : null
}

/** Returns at most `max` code points, so surrogate pairs stay whole. */
export function truncate(text: string, max: number): string {
  return text.length <= max ? text : [...text.slice(0, max * 2)].slice(0, max).join('')
}

function countCharacters(text: string): number {
  return text.length > PARAGRAPH_LENGTH.max * 2 ? text.length : [...text].length
}

/** Counts words across the chunks of a text. */
function createWordCounter(): (text: string) => number {
  let isInWord = false
  return (text) => {
    let count = 0
    for (let index = 0; index < text.length; index++) {
      const isSpace = isWhiteSpace(text.charCodeAt(index))
      if (!isSpace && !isInWord) count++
      isInWord = !isSpace
    }
    return count
  }
}

/** The same characters as `\s`, the common ones first. */
function isWhiteSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d)
  if (code < 0xa0) return false
  return code === 0xa0 || code === 0x3000 || (code >= 0x1680 && /\s/.test(String.fromCharCode(code)))
}

function publishedAt({ metas, publishedAt: fromData }: Gathered): string | null {
  const named = PUBLISHED.map((name) => metas.get(name)).find((value) => value !== undefined)
  return toIso(named ?? fromData ?? '')
}

/** Treats a time without a zone as UTC. */
function toIso(text: string): string | null {
  const hasZone = /(?:Z|[+-]\d\d:?\d\d|GMT|UTC)$/i.test(text.trim()) || /^\d{4}-\d\d-\d\d$/.test(text.trim())
  const time = new Date(hasZone ? text : `${text} UTC`)
  const iso = Number.isNaN(time.getTime()) ? new Date(`${text}Z`) : time
  return /\d{4}/.test(text) && !Number.isNaN(iso.getTime()) ? iso.toISOString() : null
}

function orNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim()
}
