import { closeSync, openSync } from 'node:fs'

/** An event loop needs two descriptors; the margin is for files that other threads open in the meantime. */
const NEEDED_DESCRIPTORS = 8

/**
 * Starts a worker without environment variables that does not keep the process alive.
 * @throws Error EMFILE when the process is out of file descriptors.
 */
export function startWorker(source: string): Worker {
  // Bun aborts the process when a worker gets no descriptors for its event loop.
  requireFreeDescriptors(NEEDED_DESCRIPTORS)
  return new Worker(source, { env: {}, ref: false, smol: true })
}

function requireFreeDescriptors(count: number): void {
  const opened: number[] = []
  try {
    while (opened.length < count) opened.push(openSync('/dev/null', 'r'))
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}
