/** `warning` runs and deserves a word; `error` does not run, or is not safe. */
export type Check = { name: string; status: 'ok' | 'warning' | 'error'; message: string; fix?: Fix }
/** A harmless fix, and the command that does the same. */
export type Fix = { command: string; run: () => void }

export function ok(name: string, message: string): Check {
  return { name, status: 'ok', message }
}

export function warning(name: string, message: string): Check {
  return { name, status: 'warning', message }
}

export function broken(name: string, message: string): Check {
  return { name, status: 'error', message }
}
