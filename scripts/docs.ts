import GithubSlugger from 'github-slugger'
import { Marked, type Token, type Tokens } from 'marked'

/** The chapter that lists the others; it stands at `/docs` itself. */
const CONTENTS = 'README'
/** What stands at addresses below `/docs` that lead to no chapter. */
const MISSING = '# There is no such chapter\n\nThe list of chapters has all that are there.\n'

type Heading = { token: Token; depth: number; text: string; id: string }
type Chapter = { name: string; tokens: Token[]; headings: Heading[] }
type Group = { title: string; entries: { name: string; title: string }[] }

/**
 * The pages of the documents, by their names: `index` of `README`, `missing` for everything that is not there.
 * `sources` are the chapters in CommonMark by their names without `.md`; `template` has `{{title}}`, `{{chapters}}` and
 * `{{content}}`. Anchors are spelled as in repositories, so that a link leads to the same place in both.
 * @throws Error when a chapter is not listed in `README`, or a link leads to a chapter or heading that is not there.
 */
export function renderDocuments(sources: ReadonlyMap<string, string>, template: string): Map<string, string> {
  const chapters = new Map([...sources].map(([name, markdown]) => [name, readChapter(name, markdown)]))
  const groups = listGroups(chapters)
  const pages = new Map<string, string>()
  for (const chapter of chapters.values()) {
    pages.set(chapter.name === CONTENTS ? 'index' : chapter.name, renderPage(chapter, chapters, groups, template))
  }
  return pages.set('missing', renderPage(readChapter('missing', MISSING), chapters, groups, template))
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

/** The headings of the list of chapters and the links below each. @throws Error when a chapter is in none of them. */
function listGroups(chapters: ReadonlyMap<string, Chapter>): Group[] {
  const groups: Group[] = []
  for (const token of chapters.get(CONTENTS)?.tokens ?? []) {
    if (isHeading(token) && token.depth === 2) groups.push({ title: toText(token.tokens), entries: [] })
    if (isList(token)) groups.at(-1)?.entries.push(...linksOf(token).map(toEntry))
  }
  const listed = new Set(groups.flatMap(({ entries }) => entries.map(({ name }) => name)))
  const forgotten = [...chapters.keys()].filter((name) => name !== CONTENTS && !listed.has(name))
  if (forgotten.length > 0)
    throw new Error(`${CONTENTS}.md lists no ${forgotten.map((name) => `${name}.md`).join(', ')}`)
  return groups
}

function toEntry({ href, tokens }: Tokens.Link) {
  return { name: href.replace(/^\/docs\//, '').replace(/\.md$/, ''), title: toText(tokens) }
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

/** Every chapter, and below the one that is open its own parts. */
function renderChapterList(open: Chapter, groups: readonly Group[]): string {
  return groups
    .map(({ title, entries }) => {
      const items = entries.map((entry) => {
        const isOpen = entry.name === open.name
        const link = `<a href="/docs/${entry.name}"${isOpen ? ' aria-current="page"' : ''}>${Bun.escapeHTML(entry.title)}</a>`
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
    },
  })
  // A table or a line of code that is too wide for a phone scrolls alone, by finger and by keyboard.
  return marked
    .parser(chapter.tokens)
    .replaceAll('<table>', '<div class="wide" role="region" aria-label="Table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">')
}

/** Where a link of `chapter` leads on the web: `interface.md#x` is `/docs/http-api#x`. @throws Error when it leads nowhere. */
function toAddress(href: string, chapter: Chapter, chapters: ReadonlyMap<string, Chapter>): string {
  if (/^https?:/.test(href)) return href
  // What the build writes is no file of the repository.
  if (chapters.has(href.replace('/docs/', '')) && href.startsWith('/docs/')) return href
  const [file = '', anchor] = href.split('#')
  const target = file === '' ? chapter : chapters.get(file.replace(/\.md$/, ''))
  const isThere = target && (anchor === undefined || target.headings.some(({ id }) => id === anchor))
  if (!isThere || (file !== '' && !file.endsWith('.md'))) throw new Error(`${chapter.name}.md: ${href} leads nowhere`)
  const address = file === '' ? '' : target.name === CONTENTS ? '/docs' : `/docs/${target.name}`
  return anchor === undefined ? address : `${address}#${anchor}`
}

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === 'heading'
}

/** The link that begins each line of a list. */
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

/** The words without their marks, as a repository takes them for an anchor. */
function toText(tokens: readonly Token[] | undefined): string {
  return (tokens ?? [])
    .map((token) => ('tokens' in token && token.tokens ? toText(token.tokens) : 'text' in token ? token.text : ''))
    .join('')
}
