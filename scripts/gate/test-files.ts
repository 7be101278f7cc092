import { join } from 'node:path'
import { LONG_FILES } from './long-files.ts'
import { SLOW_FILES } from './slow-files.ts'

/**
 * What a test file needs of the machine. `engine` starts container engines, `browser` a browser, `program` others, and
 * `measuring` compares times; `light` is everything else.
 */
export type Kind = 'light' | 'program' | 'engine' | 'browser' | 'measuring'

/**
 * A test file below the root; `seconds` is how long it took last, or a guess. A long one is left to a release: `long-files.ts`.
 */
export type TestFile = { path: string; kind: Kind; seconds: number; mayShare: boolean; isLong: boolean }

/** Files that one process runs one after another. */
export type Batch = { paths: string[]; kind: Kind; seconds: number }

const PATTERN = '{src,tests,web,scripts}/**/*.test.{ts,tsx}'
/** A file says what it is in a comment of its own, such as `// gate: measuring`. */
const DECLARED = /^\/\/ gate: (\w+)$/m
/** What needs an engine or a browser cannot but import one of these. */
const IMPORTED: readonly (readonly [RegExp, Kind])[] = [
  [/from '[^']*harness\/(?:\w+\/)?(?:engine|swarm|openclaw|live-image)\.ts'/, 'engine'],
  [/from '[^']*harness\/(?:\w+\/)?browser\.ts'/, 'browser'],
]
/** Guesses for quick files that were never run here: only their order counts. */
const GUESSED_SECONDS: Readonly<Record<Kind, number>> = { engine: 60, browser: 50, measuring: 30, program: 5, light: 1 }
/** Whoever changes what belongs to the whole process has one of his own; so has who says `// gate: alone`. */
const TOUCHES_THE_PROCESS =
  /\b(?:setSystemTime|mock\.module)\(|\bprocess\.(?:exit|on)\b|\bprocess\.env\S* =|delete process\.env|^\/\/ gate: alone$/m
const STARTS_ANY_PROGRAM = /\b(?:openInstallation|startServer|openTalkingService|(?:Bun\.)?spawn(?:Sync)?)\(/
/**
 * To load what tests share takes longer than most of them: a process of each file would take a third more time in all.
 * Those that wait for programs or for a browser take long enough to want company for a while only.
 */
const FILES_A_BATCH: Partial<Record<Kind, number>> = { light: 50, program: 8, browser: 6 }
const STARTS_PROGRAMS = /\b(?:openInstallation|startServer|openTalkingService)\(/
const GUESSED_SECONDS_WITH_PROGRAMS = 5
const GUESSED_BYTES_A_SECOND = 5000

/**
 * Every test file below `root` whose path contains one of `words`, or all of them without any. `remembered` has seconds
 * by path. @throws Error naming a file that declares a kind which does not exist.
 */
export async function findTestFiles(
  root: string,
  { words = [], remembered = {} }: { words?: readonly string[]; remembered?: Readonly<Record<string, number>> } = {},
): Promise<TestFile[]> {
  const paths = [...new Bun.Glob(PATTERN).scanSync({ cwd: root })].sort()
  const wanted = paths.filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  return Promise.all(
    wanted.map(async (path) => {
      const text = await Bun.file(join(root, path)).text()
      const kind = kindOf(path, text)
      const mayShare = FILES_A_BATCH[kind] !== undefined && !TOUCHES_THE_PROCESS.test(text)
      return {
        path,
        kind,
        mayShare,
        isLong: Object.hasOwn(LONG_FILES, path),
        seconds: remembered[path] ?? SLOW_FILES[path] ?? guessSeconds(kind, text),
      }
    }),
  )
}

/** Which files share a process depends on nothing but what files there are: neighbours, which load the same, do. */
export function toBatches(files: readonly TestFile[]): Batch[] {
  const batches = Object.entries(FILES_A_BATCH).flatMap(([kind, size]) => {
    const shared = files.filter((file) => file.mayShare && file.kind === kind)
    return Array.from({ length: Math.ceil(shared.length / size) }, (_, index) =>
      shared.slice(index * size, (index + 1) * size),
    )
  })
  const alone = files.filter(({ mayShare }) => !mayShare).map((file) => [file])
  return [...batches, ...alone].map((group) => ({
    paths: group.map(({ path }) => path),
    kind: group[0]?.kind ?? 'light',
    seconds: group.reduce((sum, { seconds }) => sum + seconds, 0),
  }))
}

function kindOf(path: string, text: string): Kind {
  const declared = DECLARED.exec(text)?.[1]
  if (declared === undefined || declared === 'alone')
    return (
      IMPORTED.find(([pattern]) => pattern.test(text))?.[1] ?? (STARTS_ANY_PROGRAM.test(text) ? 'program' : 'light')
    )
  if (isKind(declared)) return declared
  throw new Error(`${path} declares the kind ${declared}; there are ${Object.keys(GUESSED_SECONDS).join(', ')}`)
}

function isKind(word: string): word is Kind {
  return Object.hasOwn(GUESSED_SECONDS, word)
}

function guessSeconds(kind: Kind, text: string): number {
  const base = STARTS_PROGRAMS.test(text)
    ? Math.max(GUESSED_SECONDS[kind], GUESSED_SECONDS_WITH_PROGRAMS)
    : GUESSED_SECONDS[kind]
  return base + text.length / GUESSED_BYTES_A_SECOND
}
