/** Returns the error with which `work` fails. @throws Error when it succeeds. */
export async function failureOf(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('It did not fail')
}
