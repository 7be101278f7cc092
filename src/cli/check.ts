/** `warning` runs and deserves a word; `error` does not run, or is not safe. */
export type Check = { name: string; status: 'ok' | 'warning' | 'error'; message: string; fix?: Fix }
/** What mends it without any harm, and the same as somebody would type it. */
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
