import { posix } from 'node:path'
import GithubSlugger from 'github-slugger'
import { Marked, type Token, type Tokens } from 'marked'
import type { SearchEntry } from '../../web/docs/search-entry.ts'

/** The page that lists the others of its folder; `/docs` shows the top one. */
const CONTENTS = 'README'
const MISSING = '# Page not found\n\nThere is no page at this address. Use the list of pages or the search.\n'
/** Pages whose headings alone are searched: their tables repeat what other pages explain. */
const SEARCHED_BY_HEADING = new Set(['api', 'http-api'])

type Heading = { token: Token; depth: number; text: string; id: string }
type Chapter = { name: string; tokens: Token[]; headings: Heading[] }
type Group = { title: string; entries: { name: string; title: string }[] }
/**
 * Renders the documents to HTML pages by name: `index` for `README`, `decisions` for `decisions/README`, `missing` for
 * a 404. `sources` holds CommonMark by path below `web/docs` without `.md`; `template` has `{{title}}`, `{{chapters}}`
 * and `{{content}}`. Anchors are spelled as on GitHub, so a link works in the repository and on the web.
 * @throws Error when no `README` lists a page, or when a link or anchor has no target.
 */
export function renderDocuments(sources: ReadonlyMap<string, string>, template: string): Map<string, string> {
  const chapters = readChapters(sources)
  const groups = listGroups(chapters)
  requireListed(chapters, groups)
  const pages = new Map<string, string>()
  for (const chapter of chapters.values()) {
    pages.set(toPageName(chapter.name), renderPage(chapter, chapters, groups, template))
  }
  return pages.set('missing', renderPage(readChapter('missing', MISSING), chapters, groups, template))
}

/** Lists the parts of every page, one per heading, for the search in the browser. */
export function listSearchEntries(sources: ReadonlyMap<string, string>): SearchEntry[] {
  return [...readChapters(sources).values()].flatMap((chapter) => {
    const page = chapter.headings[0]?.text ?? chapter.name
    const hasText = !SEARCHED_BY_HEADING.has(chapter.name)
    return chapter.headings.map((heading, index) => {
      const from = chapter.tokens.indexOf(heading.token) + 1
      const next = chapter.headings[index + 1]
      const to = next ? chapter.tokens.indexOf(next.token) : chapter.tokens.length
      const text = hasText ? toText(chapter.tokens.slice(from, to)).replace(/\s+/g, ' ').trim() : ''
      const anchor = index === 0 ? '' : `#${heading.id}`
      return { page, heading: heading.text, address: `${toUrl(chapter.name)}${anchor}`, text }
    })
  })
}

function readChapters(sources: ReadonlyMap<string, string>): Map<string, Chapter> {
  return new Map([...sources].map(([name, markdown]) => [name, readChapter(name, markdown)]))
}

/** Returns the file name of a page: `decisions/README` becomes `decisions`, the top `README` becomes `index`. */
function toPageName(name: string): string {
  return name.replace(/\/?README$/, '') || 'index'
}

function toUrl(name: string): string {
  return name === CONTENTS ? '/docs' : `/docs/${toPageName(name)}`
}

function readChapter(name: string, markdown: string): Chapter {
  const tokens = new Marked().lexer(markdown)
  const slugger = new GithubSlugger()
  const headings = tokens.filter(isHeading).map((token) => {
    const text = toText(token.tokens)
    return { token, depth: token.depth, text, id: slugger.slug(text) }
  })
  return { name, tokens, headings }
}

/** Returns the headings of the top `README` and the pages that it links below each. */
function listGroups(chapters: ReadonlyMap<string, Chapter>): Group[] {
  const groups: Group[] = []
  for (const token of chapters.get(CONTENTS)?.tokens ?? []) {
    if (isHeading(token) && token.depth === 2) groups.push({ title: toText(token.tokens), entries: [] })
    if (isList(token)) groups.at(-1)?.entries.push(...linksOf(token).map((link) => toEntry(link, '')))
  }
  return groups.filter(({ entries }) => entries.length > 0)
}

/** @throws Error when the `README` of a page's folder does not list the page. */
function requireListed(chapters: ReadonlyMap<string, Chapter>, groups: readonly Group[]): void {
  const listed = new Set(groups.flatMap(({ entries }) => entries.map(({ name }) => name)))
  for (const { name, tokens } of chapters.values()) {
    const folder = posix.dirname(name)
    if (folder === '.' || posix.basename(name) !== CONTENTS) continue
    for (const token of tokens.filter(isList)) for (const link of linksOf(token)) listed.add(toEntry(link, folder).name)
  }
  const forgotten = [...chapters.keys()].filter((name) => name !== CONTENTS && !listed.has(name))
  if (forgotten.length > 0)
    throw new Error(`${CONTENTS}.md lists no ${forgotten.map((name) => `${name}.md`).join(', ')}`)
}

function toEntry({ href, tokens }: Tokens.Link, folder: string) {
  const path = href.startsWith('/docs/') ? href.slice('/docs/'.length) : posix.join(folder, href)
  return { name: path.replace(/\.md$/, ''), title: toText(tokens) }
}

function renderPage(
  chapter: Chapter,
  chapters: ReadonlyMap<string, Chapter>,
  groups: readonly Group[],
  template: string,
): string {
  const title = chapter.headings[0]?.text ?? chapter.name
  const parts = new Map([
    ['title', Bun.escapeHTML(title)],
    ['chapters', renderChapterList(chapter, groups)],
    ['content', renderContent(chapter, chapters)],
  ])
  return template.replace(/\{\{(\w+)\}\}/g, (whole, name) => parts.get(name) ?? whole)
}

/** Renders the navigation: every page, and below the open one its sections. */
function renderChapterList(open: Chapter, groups: readonly Group[]): string {
  return groups
    .map(({ title, entries }) => {
      const items = entries.map((entry) => {
        const isOpen = entry.name === open.name
        const isAround = posix.dirname(open.name) !== '.' && posix.dirname(entry.name) === posix.dirname(open.name)
        const current = isOpen ? ' aria-current="page"' : isAround ? ' aria-current="true"' : ''
        const link = `<a href="${toUrl(entry.name)}"${current}>${Bun.escapeHTML(entry.title)}</a>`
        return `<li>${link}${isOpen ? renderParts(open) : ''}</li>`
      })
      return `<h2>${Bun.escapeHTML(title)}</h2><ul>${items.join('')}</ul>`
    })
    .join('')
}

function renderParts({ headings }: Chapter): string {
  const parts = headings.filter(({ depth }) => depth === 2)
  return `<ul>${parts.map(({ id, text }) => `<li><a href="#${id}">${Bun.escapeHTML(text)}</a></li>`).join('')}</ul>`
}

function renderContent(chapter: Chapter, chapters: ReadonlyMap<string, Chapter>): string {
  const marked = new Marked({
    renderer: {
      heading(token) {
        const { depth, tokens } = token
        const id = chapter.headings.find((heading) => heading.token === token)?.id
        const text = this.parser.parseInline(tokens)
        return depth === 1
          ? `<h1 id="${id}">${text}</h1>`
          : `<h${depth} id="${id}"><a href="#${id}">${text}</a></h${depth}>`
      },
      link({ href, tokens }) {
        return `<a href="${Bun.escapeHTML(toAddress(href, chapter, chapters))}">${this.parser.parseInline(tokens)}</a>`
      },
      image({ href, text }) {
        const source = posix.join('/docs', posix.dirname(chapter.name), href)
        return `<img src="${Bun.escapeHTML(source)}" alt="${Bun.escapeHTML(text)}" loading="lazy">`
      },
    },
  })
  // A table or code line that is wider than a phone scrolls by itself, by finger and by keyboard.
  return marked
    .parser(chapter.tokens)
    .replaceAll('<table>', '<div class="wide" role="region" aria-label="Table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">')
}

/** Returns the address of a link on the web: `http-api.md#x` becomes `/docs/http-api#x`. @throws Error without a target. */
function toAddress(href: string, chapter: Chapter, chapters: ReadonlyMap<string, Chapter>): string {
  if (/^https?:/.test(href)) return href
  // The build writes `/docs/api`; the repository has no file of it.
  if (chapters.has(href.replace('/docs/', '')) && href.startsWith('/docs/')) return href
  const [file = '', anchor] = href.split('#')
  const path = posix.join(posix.dirname(chapter.name), file).replace(/\.md$/, '')
  const target = file === '' ? chapter : chapters.get(path)
  const isThere = target && (anchor === undefined || target.headings.some(({ id }) => id === anchor))
  if (!isThere || (file !== '' && !file.endsWith('.md'))) throw new Error(`${chapter.name}.md: ${href} leads nowhere`)
  const address = file === '' ? '' : toUrl(target.name)
  return anchor === undefined ? address : `${address}#${anchor}`
}

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === 'heading'
}

/** Returns the link at the start of each line of a list. */
function linksOf(list: Tokens.List): Tokens.Link[] {
  return list.items.flatMap(({ tokens }) =>
    tokens
      .flatMap((token) => ('tokens' in token ? token.tokens : []) ?? [])
      .filter(isLink)
      .slice(0, 1),
  )
}

function isLink(token: Token): token is Tokens.Link {
  return token.type === 'link'
}

function isList(token: Token): token is Tokens.List {
  return token.type === 'list'
}

/** Returns the plain text of tokens; of a heading, GitHub makes its anchor from it. */
function toText(tokens: readonly Token[] | undefined): string {
  return (tokens ?? [])
    .map((token) => {
      if (token.type === 'table')
        return [token.header, ...token.rows]
          .flat()
          .map((cell) => toText(cell.tokens))
          .join(' ')
      if (token.type === 'list') return token.items.map((item: Tokens.ListItem) => `${toText(item.tokens)} `).join('')
      return 'tokens' in token && token.tokens ? toText(token.tokens) : 'text' in token ? token.text : ' '
    })
    .join('')
}
