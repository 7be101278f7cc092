import type { Report } from '../../server/backups/create.ts'

/** Shows how far a long command is in one line of the terminal, and nothing where standard error is none. */
export function createProgress(): Disposable & { report: Report } {
  if (!process.stderr.isTTY) return { report: () => {}, [Symbol.dispose]: () => {} }
  let shown = ''
  const show = (line: string) => {
    if (line === shown) return
    shown = line
    process.stderr.write(`\r\u001b[K${line}`)
  }
  return {
    report: (what, done) => show(done === undefined ? what : `${what} ${Math.floor(done * 100)} %`),
    [Symbol.dispose]: () => show(''),
  }
}
