/** What `work` settles with, or `late` when it has not within `maxMs`. It goes on all the same; whatever it then throws is dropped. */
export async function orLate<T, Late>(work: Promise<T>, maxMs: number, late: Late): Promise<T | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>()
  const timer = setTimeout(() => resolve(late), maxMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
