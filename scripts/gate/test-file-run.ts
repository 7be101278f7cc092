import { join } from 'node:path'
import { runCommand } from './command.ts'
import { openSections, type Section } from './sections.ts'

export type Counts = { passed: number; failed: number; skipped: number }

/**
 * A file that ended: `output` says what failed and what was said around it. `busySeconds` is processor time, of files
 * that shared a process their part of it by the time they took.
 */
export type FileResult = Counts & { path: string; seconds: number; busySeconds: number; output: string }

export type FileRunOptions = {
  root: string
  /** Guards against hanging, for one test and, for each of its files, for one process. */
  limits: { testMs: number; fileMs: number }
  signal: AbortSignal
}

const NONE: Counts = { passed: 0, failed: 0, skipped: 0 }

/**
 * Runs test files one after another in one process, and those after a file that ends or holds the process in another.
 * `onEnd` hears of each as it ends. A file that fails beside its tests counts as one failure more.
 */
export async function runTestFiles(
  paths: readonly string[],
  options: FileRunOptions,
  onEnd: (result: FileResult) => void,
): Promise<FileResult[]> {
  const results: FileResult[] = []
  while (results.length < paths.length) results.push(...(await runProcess(paths.slice(results.length), options, onEnd)))
  return results
}

/** @returns results of one file at least, and of those that follow it as far as the process got. */
async function runProcess(
  paths: readonly string[],
  { root, limits, signal }: FileRunOptions,
  onEnd: (result: FileResult) => void,
): Promise<FileResult[]> {
  const results: FileResult[] = []
  const add = (result: FileResult) => {
    results.push(result)
    onEnd(result)
  }
  if (signal.aborted) {
    for (const path of paths) add(toResult({ path }, NONE, 'The file was not run: the time for everything is over.'))
    return results
  }
  const sections = openSections(paths, (section) => add(judge(section, describeCompany(paths, section.path))))
  const command = [process.execPath, 'test', `--timeout=${limits.testMs}`, ...paths.map((path) => join(root, path))]
  const finished = await runCommand(command, {
    cwd: root,
    limitMs: limits.fileMs * paths.length,
    signal,
    onOutput: sections.take,
  })
  const last = sections.end()
  const isOver = last.summary !== null && finished.reason === undefined
  const company = describeCompany(paths, last.path)
  add(judge(last, company, findFault(finished, isOver, results)))
  // What a process that ended as it should did not get to has no tests, or could not be found.
  for (const path of isOver ? paths.slice(results.length) : []) add(toResult({ path }, NONE, 'The file has no tests.'))
  const all = results.reduce((sum, { seconds }) => sum + seconds, 0) || 1
  for (const result of results) result.busySeconds = (finished.busySeconds * result.seconds) / all
  return results
}

/** Why the process failed beside its tests, which is told of the file that it had come to; null when it did not. */
function findFault(
  { exitCode, reason }: { exitCode: number; reason?: string },
  isOver: boolean,
  before: readonly FileResult[],
): string | null {
  if (reason !== undefined) return `The file ${reason}.`
  if (!isOver) return `The file ended with exit code ${exitCode} before its tests did.`
  if (exitCode === 0 || before.some(({ failed }) => failed > 0)) return null
  return `The file ended with exit code ${exitCode}.`
}

/** What a section of the output says of its file. A `fault` of the process counts where the file has no failure of its own. */
function judge(section: Section, company: string, fault: string | null = null): FileResult {
  const count = (word: string) => [...section.text.matchAll(new RegExp(`^\\(${word}\\) `, 'gm'))].length
  const broken = [...section.text.matchAll(/^# Unhandled error between tests$/gm)].length
  const counts = { passed: count('pass'), failed: count('fail') + broken, skipped: count('skip') }
  const isEmpty = counts.passed + counts.failed + counts.skipped === 0
  const isExcused = counts.failed > 0 && fault?.endsWith('exit code 1.')
  const told = isExcused ? null : (fault ?? (isEmpty ? 'The file has no tests.' : null))
  return toResult(section, counts, told, company)
}

function toResult(
  { path, seconds = 0, text = '' }: Partial<Section> & { path: string },
  counts: Counts,
  fault: string | null,
  company = '',
): FileResult {
  const failed = counts.failed + (fault === null ? 0 : 1)
  const output = [failed > 0 ? company : '', withoutPassed(text).trimEnd(), fault ?? ''].filter(Boolean).join('\n')
  return { ...counts, failed, path, seconds, busySeconds: 0, output }
}

function describeCompany(paths: readonly string[], path: string): string {
  const before = paths.slice(0, paths.indexOf(path))
  return before.length > 0 ? `Before it in the same process: ${before.join(', ')}` : ''
}

function withoutPassed(output: string): string {
  return output.replace(/^\((?:pass|skip)\) .*\n/gm, '')
}
