import { DOMParser } from 'linkedom'

/** The part of linkedom's element used here: linkedom's types need the DOM library, which this program is compiled without. */
type XmlElement = {
  textContent: string | null
  parentElement: XmlElement | null
  getAttribute(name: string): string | null
  querySelectorAll(selector: string): Iterable<XmlElement>
}

export type FileReport = {
  path: string
  seconds: number
  passed: number
  failed: number
  skipped: number
  failures: { test: string; message: string }[]
}

/**
 * Reads the JUnit report that `bun test` wrote about `paths`. A path that the report lacks counts as failed: the file
 * could not be loaded, has no tests, or was never started.
 */
export function readJUnit(xml: string, paths: readonly string[]): FileReport[] {
  const root: unknown = new DOMParser().parseFromString(xml, 'text/xml')
  const suites = [...(root as XmlElement).querySelectorAll('testsuites > testsuite')]
  const reports = new Map(suites.map((suite) => [suite.getAttribute('file'), toReport(suite)]))
  return paths.map((path) => reports.get(path) ?? reportMissing(path))
}

function toReport(suite: XmlElement): FileReport {
  const read = (name: string) => Number(suite.getAttribute(name))
  const [failed, skipped] = [read('failures'), read('skipped')]
  return {
    path: suite.getAttribute('file') ?? '',
    seconds: read('time'),
    passed: read('tests') - failed - skipped,
    failed,
    skipped,
    failures: [...suite.querySelectorAll('failure')].map((failure) => ({
      test: failure.parentElement?.getAttribute('name') ?? '',
      message: failure.textContent?.trim() || (failure.getAttribute('message') ?? ''),
    })),
  }
}

function reportMissing(path: string): FileReport {
  const message =
    'bun test reported no tests for this file: it cannot be loaded, has no tests, or was not started in time.'
  return { path, seconds: 0, passed: 0, failed: 1, skipped: 0, failures: [{ test: '(file)', message }] }
}
