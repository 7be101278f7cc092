/**
 * `bun run lint:language [path…]`: checks the words of comments, test titles, UI texts, documents, names and file names
 * against the glossary of `web/docs/contributing.md`. Exits with 1 when a line breaks a rule.
 */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ALLOWED, NAME_WORDS, OPENING, WORD_RULES } from './rules.ts'
import { readMarkdown, readModule, sentencesOf, type Text, wordsOf } from './texts.ts'

const ROOT = join(import.meta.dir, '..', '..')
const PATTERNS = [
  'README.md',
  'src/**/*.ts',
  'tests/**/*.ts',
  'scripts/**/*.ts',
  'web/**/*.{ts,tsx}',
  'web/docs/**/*.md',
]
/** The rules themselves name the words they refuse. */
const EXCLUDED = ['scripts/language/', 'web/docs/changelog.md']

const paths = process.argv.slice(2).map((path) => relative(ROOT, join(process.cwd(), path)))
const files = PATTERNS.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: ROOT })])
  .filter((file) => !EXCLUDED.some((path) => file.startsWith(path)))
  .filter((file) => paths.length === 0 || paths.some((path) => file === path || file.startsWith(`${path}/`)))
  .sort()
const problems = files.flatMap(checkFile).filter((problem) => !ALLOWED.has(problem))
for (const problem of problems) console.log(problem)
console.error(`${problems.length} problems in ${files.length} files`)
process.exit(problems.length > 0 ? 1 : 0)

function checkFile(file: string): string[] {
  const source = readFileSync(join(ROOT, file), 'utf8')
  const named = checkName(file, { line: 1, text: file.split('/').at(-1) ?? '', isProse: false })
  if (file.endsWith('.md')) return [...named, ...readMarkdown(source).flatMap((text) => checkText(file, text))]
  const { texts, names } = readModule(file, source)
  return [
    ...named,
    ...texts.flatMap((text) => checkText(file, text)),
    ...names.flatMap((name) => checkName(file, name)),
  ]
}

function checkText(file: string, { line, text }: Text): string[] {
  const words = WORD_RULES.flatMap(({ pattern, instead }) => {
    const match = pattern.exec(text)
    return match ? [`${file}:${line}: "${match[0]}", use ${instead}: ${shorten(text)}`] : []
  })
  const openings = sentencesOf(text)
    .filter((sentence) => OPENING.test(sentence) && !sentence.endsWith('?'))
    .map((sentence) => `${file}:${line}: no concrete subject: ${shorten(sentence)}`)
  return [...words, ...openings]
}

function checkName(file: string, { line, text }: Text): string[] {
  const word = wordsOf(text).find((one) => NAME_WORDS.has(one))
  return word ? [`${file}:${line}: the name ${text} has "${word}"`] : []
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text
}
