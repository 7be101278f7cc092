/** Settles with `work`, or resolves with `late` after `maxMs`; `work` continues and later errors are dropped. */
export async function orLate<T, Late>(work: Promise<T>, maxMs: number, late: Late): Promise<T | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>()
  const timer = setTimeout(() => resolve(late), maxMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
