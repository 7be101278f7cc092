/** The search of the documents: reads `/docs/search.json` once and ranks its entries in the browser. */
import type { SearchEntry } from './search-entry.ts'

const MAX_RESULTS = 12
const SNIPPET_LENGTH = 110

type Result = { entry: SearchEntry; score: number }

const box = document.querySelector<HTMLElement>('#search')
const input = box?.querySelector('input')
const list = box?.querySelector<HTMLElement>('#search-results')
let entries: Promise<SearchEntry[]> | null = null
let active = -1

if (box && input && list) startSearch(box, input, list)

function startSearch(box: HTMLElement, input: HTMLInputElement, list: HTMLElement): void {
  box.hidden = false
  input.addEventListener('focus', () => void readEntries())
  input.addEventListener('input', () => void showResults(input, list))
  input.addEventListener('keydown', (event) => handleKey(event, input, list))
  input.form?.addEventListener('submit', (event) => {
    event.preventDefault()
    const links = list.querySelectorAll('a')
    links[Math.max(active, 0)]?.click()
  })
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea')
    if (event.key !== '/' || isTyping || event.metaKey || event.ctrlKey || event.altKey) return
    event.preventDefault()
    input.select()
  })
  document.addEventListener('click', (event) => {
    if (event.target instanceof Node && !box.contains(event.target)) close(input, list)
  })
}

function readEntries(): Promise<SearchEntry[]> {
  entries ??= fetch('/docs/search.json')
    .then((response) => response.json())
    .catch((error) => {
      entries = null
      throw error
    })
  return entries
}

async function showResults(input: HTMLInputElement, list: HTMLElement): Promise<void> {
  const query = input.value
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return close(input, list)
  const items = await readEntries().then(
    (all) => findResults(all, words).map(({ entry }, index) => toItem(entry, words, index)),
    () => [toMessage('The search index could not be loaded. Check the connection and try again.')],
  )
  if (input.value !== query) return
  list.replaceChildren(...(items.length > 0 ? items : [toMessage('No results')]))
  list.hidden = false
  input.setAttribute('aria-expanded', 'true')
  setActive(-1, input, list)
}

/** Entries that contain every word, those with the words in their headings first. */
function findResults(all: readonly SearchEntry[], words: readonly string[]): Result[] {
  const results = all.flatMap((entry) => {
    const score = words.map((word) => scoreWord(entry, word)).reduce((sum, each) => (each === 0 ? -1e9 : sum + each), 0)
    return score > 0 ? [{ entry, score }] : []
  })
  return results.sort((one, other) => other.score - one.score).slice(0, MAX_RESULTS)
}

function scoreWord({ page, heading, text }: SearchEntry, word: string): number {
  const title = heading.toLowerCase()
  if (title.startsWith(word)) return 40
  if (title.includes(word)) return 25
  if (page.toLowerCase().includes(word)) return 12
  return text.toLowerCase().includes(word) ? 5 : 0
}

function toItem({ page, heading, address, text }: SearchEntry, words: readonly string[], index: number): HTMLElement {
  const item = document.createElement('div')
  item.id = `search-result-${index}`
  item.setAttribute('role', 'option')
  const link = document.createElement('a')
  link.href = address
  link.tabIndex = -1
  const title = document.createElement('strong')
  title.textContent = heading === page ? page : `${page} › ${heading}`
  const snippet = document.createElement('span')
  snippet.textContent = toSnippet(text, words)
  link.append(title, snippet)
  item.append(link)
  return item
}

function toMessage(text: string): HTMLElement {
  const item = document.createElement('div')
  item.className = 'message'
  item.textContent = text
  return item
}

function toSnippet(text: string, words: readonly string[]): string {
  const found = words.map((word) => text.toLowerCase().indexOf(word)).filter((position) => position >= 0)
  const from = Math.max(Math.min(...found, text.length) - 30, 0)
  const start = found.length === 0 ? 0 : from
  const part = text.slice(start, start + SNIPPET_LENGTH)
  return `${start > 0 ? '… ' : ''}${part}${start + SNIPPET_LENGTH < text.length ? ' …' : ''}`
}

function handleKey(event: KeyboardEvent, input: HTMLInputElement, list: HTMLElement): void {
  const { length } = list.querySelectorAll('a')
  if (event.key === 'Escape') close(input, list)
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  event.preventDefault()
  if (length === 0) return
  const step = event.key === 'ArrowDown' ? 1 : -1
  setActive((Math.max(active, step > 0 ? -1 : 0) + step + length) % length, input, list)
}

/** Marks a result for the keyboard and for screen readers; -1 marks none. */
function setActive(index: number, input: HTMLInputElement, list: HTMLElement): void {
  active = index
  for (const [position, item] of [...list.children].entries()) {
    item.setAttribute('aria-selected', String(position === index))
    if (position === index) item.scrollIntoView({ block: 'nearest' })
  }
  if (index < 0) input.removeAttribute('aria-activedescendant')
  else input.setAttribute('aria-activedescendant', `search-result-${index}`)
}

function close(input: HTMLInputElement, list: HTMLElement): void {
  list.hidden = true
  list.replaceChildren()
  input.setAttribute('aria-expanded', 'false')
  setActive(-1, input, list)
}
