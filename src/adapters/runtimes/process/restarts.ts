import type { ProcessTiming } from './life.ts'

/** When an agent that has ended is started again: the more often in a row, the later. */
export class RestartTimer {
  readonly #timing: Pick<ProcessTiming, 'backoffMs'>
  #failures = 0
  #timer: Timer | null = null

  constructor(timing: Pick<ProcessTiming, 'backoffMs'>) {
    this.#timing = timing
  }

  /** The next start is the first of a new row. */
  reset(): void {
    this.#failures = 0
  }

  /** Nothing happens when a start is due already. */
  schedule(start: () => void): void {
    if (this.#timer) return
    const delayMs = this.#timing.backoffMs(this.#failures)
    this.#failures += 1
    this.#timer = setTimeout(() => {
      this.#timer = null
      start()
    }, delayMs)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}
