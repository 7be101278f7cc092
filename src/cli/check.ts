/** `warning`: the server runs but should be fixed; `error`: it does not run, or is unsafe. */
export type Check = { name: string; status: 'ok' | 'warning' | 'error'; message: string; fix?: Fix }
/** A safe fix, and the equivalent command. */
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
